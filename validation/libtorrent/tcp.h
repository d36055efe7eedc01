// TCP under the real client: CUBIC or Reno in the stack of Linux 6.x, in place of that of libsimulator, which has no slow start,
// knows losses at once and never repeats by a timer. Rules and constants: models/stacks/linux-6.toml and
// models/congestion/cubic-6.toml, which have sources.
#pragma once

#include "network.h"

#include <deque>
#include <map>

namespace oracle {

struct TcpOptions {
  bool cubic = true;
  bool idle_reset = true;         // tcp_cwnd_restart
  bool window_validation = true;  // tcp_is_cwnd_limited
};
extern TcpOptions tcp_options;

// One end of a connection. Sequence numbers are bytes.
struct Tcp : std::enable_shared_from_this<Tcp> {
  explicit Tcp(sim::asio::ip::tcp::socket *s) : socket(s) {}

  sim::asio::ip::tcp::socket *socket;  // null once it is closed

  int take(std::vector<boost::asio::const_buffer> const &buffers);  // bytes that fit into the send buffer; 0: none
  void arrived(Packet p);                                           // a segment or an ACK

 private:
  struct Segment {
    std::uint64_t at;
    std::vector<std::uint8_t> data;
    Time sent;
    std::uint64_t serial;  // order of transmissions
    bool sacked = false, lost = false, again = false;
  };

  // sender
  void acknowledged(Packet const &p);
  void undo();
  int find_losses();
  void enter_recovery();
  void reduce_in_recovery(int delivered, bool safe);
  void grow(int acked);
  double cubic_growth();
  void hystart(double rtt);
  double reduced();
  void estimate(double rtt);
  void send();
  bool send_new();
  void transmit(Segment &s);
  void arm();
  void timer();
  void timeout();
  void probe();
  void restart_after_idle();
  int flight() const { return int(m_sent.size()) - m_sacked - m_missing; }
  double room() const;

  std::vector<std::uint8_t> m_unsent;
  std::size_t m_unsent_from = 0;
  std::deque<Segment> m_sent;
  std::uint64_t m_next = 0, m_una = 0, m_small_end = 0, m_serial = 0, m_sent_serial = 0;
  std::uint64_t m_queued = 0;    // bytes in the send buffer
  bool m_full = false;           // the application waits for room
  int m_sacked = 0, m_missing = 0;  // of m_sent; missing: lost, and not sent again
  double m_cwnd = 10.0, m_ssthresh = 1e9, m_srtt = -1.0, m_rttvar = 0.0, m_rto = 1.0, m_min_rtt = 1e9, m_backoff = 1.0;
  bool m_recovering = false, m_after_timeout = false;
  double m_before_cwnd = 0.0, m_before_ssthresh = 0.0, m_timed_out_at = 0.0;  // to undo a timeout
  std::uint64_t m_recover = 0;
  double m_prr_delivered = 0.0, m_prr_out = 0.0, m_prr_flight = 0.0;
  Time m_rack_sent{};
  std::uint64_t m_rack_serial = 0;
  bool m_rack_any = false;
  double m_rack_rtt = 0.0;
  bool m_limited = false;  // by the window, tcp_cwnd_validate
  int m_most_out = 0;
  std::uint64_t m_usage_until = 0;
  Time m_last_sent{};
  double m_used = 0.0;  // snd_cwnd_used
  Time m_stamp{};
  bool m_ever_sent = false;
  std::uint64_t m_probe_end = 0;
  bool m_probe_out = false, m_probe_again = false;

  double m_w_max = 0.0, m_w_start = 0.0, m_k = 0.0, m_w_reno = 0.0;
  bool m_epoch = false;
  Time m_epoch_at{};
  std::uint64_t m_round_end = 0;  // HyStart
  int m_samples = 0;
  double m_round_min = 1e9;
  Time m_round_at{}, m_train_at{};

  Time m_timeout_at = Time::max(), m_settle_at = Time::max(), m_probe_at = Time::max();
  Time m_woken_for = Time::max();

  // receiver
  void acknowledge();
  std::uint64_t m_expected = 0;
  std::map<std::uint64_t, Packet> m_early;
  int m_quick = 16, m_since_ack = 0;
  double m_recent = 0.0;       // timestamp to echo (RFC 7323, TS.Recent)
  std::uint64_t m_told = 0;    // last acknowledged
  bool m_ack_waits = false;
  std::uint64_t m_ack_number = 0;  // invalidates a delayed ACK
};

int tcp_write(sim::asio::ip::tcp::socket &s, std::vector<boost::asio::const_buffer> const &buffers);

}  // namespace oracle
