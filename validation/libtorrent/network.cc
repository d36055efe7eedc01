#include "network.h"

#include <algorithm>
#include <utility>

namespace oracle {

namespace {
Calendar *the_calendar = nullptr;
}

Calendar &calendar() { return *the_calendar; }
void set_calendar(Calendar *c) { the_calendar = c; }

Time after(double s) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

void Calendar::at(Time when, std::function<void()> what) {
  m_heap.push_back({when, m_serial++, std::move(what)});
  std::push_heap(m_heap.begin(), m_heap.end());
  arm();
}

void Calendar::arm() {
  if (m_heap.empty() || m_heap.front().when >= m_armed) return;
  // a timer for now would be refused
  m_armed = std::max(m_heap.front().when, Clock::now() + std::chrono::nanoseconds(1));
  m_timer.expires_at(m_armed);
  m_timer.async_wait([this](boost::system::error_code const &ec) {
    if (!ec) run();
  });
}

void Calendar::run() {
  m_armed = Time::min();  // what is asked for meanwhile is armed once, at the end
  Time const now = Clock::now();
  while (!m_heap.empty() && m_heap.front().when <= now) {
    std::pop_heap(m_heap.begin(), m_heap.end());
    auto what = std::move(m_heap.back().what);
    m_heap.pop_back();
    what();
  }
  m_armed = Time::max();
  arm();
}

int wire_size(Packet const &p) {
  return p.overhead + (p.type == Packet::type_t::payload ? int(p.buffer.size()) : 0);
}

// libsimulator's sockets do not repeat SYN and its answer: whatever is dropped comes again here, after 1, 2 and 4 s
// (models/stacks/linux-6.toml; by then libtorrent has given up).
constexpr double SYN_TIMEOUT = 1.0;

bool of_handshake(Packet const &p) { return p.type == Packet::type_t::syn || p.type == Packet::type_t::syn_ack; }

void Link::account() {
  Time const now = Clock::now();
  double const passed = std::chrono::duration<double>(now - m_looked).count();
  if (watched) {
    m_area += passed * m_backlog;
    m_time += passed;
  }
  m_looked = now;
}

void Link::watch(bool on) {
  account();
  watched = on;
}

double Link::mean_queue() const { return rate > 0.0 && m_time > 0.0 ? m_area / m_time / rate : 0.0; }

void Link::incoming_packet(Packet p) { offer(std::move(p), SYN_TIMEOUT); }

void Link::offer(Packet p, double wait) {
  ++packets;
  bytes += wire_size(p);
  if (rate <= 0.0) {
    sim::forward_packet(std::move(p));
    return;
  }
  if (m_busy && int(m_waiting.size()) >= room) {
    ++dropped;
    if (of_handshake(p) && wait < 8.0 * SYN_TIMEOUT) {
      auto held = std::make_shared<Packet>(std::move(p));
      calendar().at(after(wait), [self = shared_from_this(), held, wait] { self->offer(std::move(*held), 2.0 * wait); });
    }
    return;
  }
  account();
  m_backlog += wire_size(p);
  m_waiting.push_back(std::move(p));
  if (!m_busy) serve();
}

void Link::serve() {
  m_busy = true;
  auto p = std::make_shared<Packet>(std::move(m_waiting.front()));
  m_waiting.pop_front();
  int const size = wire_size(*p);
  calendar().at(after(size / rate), [self = shared_from_this(), p, size] {
    self->account();
    self->m_backlog -= size;
    self->m_busy = false;
    if (!self->m_waiting.empty()) self->serve();
    sim::forward_packet(std::move(*p));
  });
}

void Core::incoming_packet(Packet p) {
  bool const may_be_lost = of_handshake(p) || p.type == Packet::type_t::payload || p.type == Packet::type_t::ack;
  bool const lost = loss > 0.0 && may_be_lost && std::uniform_real_distribution<>()(*random) < loss;
  if (lost && !of_handshake(p)) return;
  double const late = lost ? SYN_TIMEOUT : 0.0;
  auto held = std::make_shared<Packet>(std::move(p));
  calendar().at(after(delay + late), [held] { sim::forward_packet(std::move(*held)); });
}

sim::route Network::channel_route(sim::asio::ip::address from, sim::asio::ip::address to) {
  auto &core = m_cores[{from, to}];
  if (!core) {
    core = std::make_shared<Core>();
    core->delay = 0.5 * rtt + access[from].delay + access[to].delay;
    bool const between_peers = access[from].up && access[to].up;
    core->loss = between_peers ? loss : 0.0;
    core->random = &random;
  }
  return sim::route().append(std::static_pointer_cast<sim::sink>(core));
}

sim::route Network::incoming_route(sim::asio::ip::address ip) {
  auto const &link = access[ip].down;
  return link ? sim::route().append(std::static_pointer_cast<sim::sink>(link)) : sim::route();
}

sim::route Network::outgoing_route(sim::asio::ip::address ip) {
  auto const &link = access[ip].up;
  return link ? sim::route().append(std::static_pointer_cast<sim::sink>(link)) : sim::route();
}

Clock::duration Network::hostname_lookup(sim::asio::ip::address const &, std::string,
                                         std::vector<sim::asio::ip::address> &, boost::system::error_code &ec) {
  ec = boost::system::error_code(sim::asio::error::host_not_found);
  return std::chrono::milliseconds(100);
}

}  // namespace oracle
