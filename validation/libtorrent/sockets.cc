// Where libsimulator's TCP sockets lead to ours (hooks.toml calls these).
#include "tcp.h"

namespace sim { namespace asio { namespace ip {

std::shared_ptr<oracle::Tcp> const &tcp::socket::oracle_tcp() {
  if (!m_tcp) m_tcp = std::make_shared<oracle::Tcp>(this);
  return m_tcp;
}

void tcp::socket::oracle_moved() {
  if (m_tcp) m_tcp->socket = this;
}

void tcp::socket::oracle_closed() {
  if (m_tcp) m_tcp->socket = nullptr;
  m_tcp.reset();
}

void tcp::socket::oracle_send(aux::packet p) {
  if (!m_channel) return;
  p.hops = m_channel->hops[m_channel->remote_idx(m_bound_to)];
  if (!p.hops.empty()) forward_packet(std::move(p));
}

void tcp::socket::oracle_receive(aux::packet p) {
  m_queue_size += int(p.buffer.size());
  m_incoming_queue.push_back(std::move(p));
}

void tcp::socket::oracle_readable() {
  if (m_recv_null_buffers && m_wait_recv_handler)
    async_wait_read_impl(std::move(m_wait_recv_handler));
  else if (m_recv_handler)
    async_read_some_impl(m_recv_buffer, std::move(m_recv_handler));
}

void tcp::socket::oracle_writable() { maybe_wakeup_writer(); }

std::size_t tcp::socket::oracle_write(std::vector<boost::asio::const_buffer> const &buffers,
                                      boost::system::error_code &ec) {
  int const taken = oracle_tcp()->take(buffers);
  if (taken == 0) ec = boost::system::error_code(error::would_block);
  return std::size_t(taken);
}

bool tcp::socket::oracle_incoming(aux::packet &p) {
  using type = aux::packet::type_t;
  if (p.type == type::payload || p.type == type::ack) {
    auto const held = oracle_tcp();
    held->arrived(std::move(p));
    return true;
  }
  if (p.type == type::error && !m_connect_handler) {
    m_incoming_queue.push_back(std::move(p));
    oracle_readable();
    return true;
  }
  return false;
}

}}}  // namespace sim::asio::ip
