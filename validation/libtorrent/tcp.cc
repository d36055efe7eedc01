#include "tcp.h"

#include "log.h"

#include <algorithm>
#include <cmath>

namespace oracle {

TcpOptions tcp_options;

namespace {
constexpr int MSS = 1448, HEADER = 52, DUPLICATES = 3, QUICK_ACKS = 16;
constexpr double INITIAL_WINDOW = 10.0, LEAST_WINDOW = 2.0, MOST_WINDOW = 4.0 * 1024 * 1024 / MSS;
constexpr double RTO_MIN = 0.2, RTO_MAX = 120.0, ACK_DELAY = 0.04, GRANULARITY = 2e-3;
constexpr double CUBIC_C = 0.4, CUBIC_BETA = 0.7, RENO_BETA = 0.5;
constexpr double HYSTART_LOW = 16.0, HYSTART_LEAST = 0.004, HYSTART_MOST = 0.016, HYSTART_GAP = 0.002;
constexpr int HYSTART_SAMPLES = 8;
constexpr double SEND_BUFFER = 87040.0;  // models/sockets/linux-6.toml: at first, then two windows

double clock_now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }
double since(Time t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
Time plus(Time t, double s) {
  return t + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}
}  // namespace

// -- sender -----------------------------------------------------------------------------------------------------------

double Tcp::room() const { return std::max(SEND_BUFFER, 2.0 * m_cwnd * MSS) - double(m_queued); }

int Tcp::take(std::vector<boost::asio::const_buffer> const &buffers) {
  int taken = 0;
  for (auto const &b : buffers) {
    auto const n = std::min<std::size_t>(b.size(), std::max(0.0, room()));
    auto const *from = static_cast<std::uint8_t const *>(b.data());
    m_unsent.insert(m_unsent.end(), from, from + n);
    m_queued += n;
    taken += int(n);
    if (n < b.size()) break;
  }
  m_full = taken == 0;
  if (taken > 0) send();
  return taken;
}

void Tcp::transmit(Segment &s) {
  Packet p;
  p.type = Packet::type_t::payload;
  p.buffer = s.data;
  p.seq_nr = s.at;
  p.overhead = HEADER;
  p.from = sim::asio::ip::udp::endpoint();
  s.sent = Clock::now();
  s.serial = ++m_sent_serial;
  m_last_sent = s.sent;
  m_ever_sent = true;
  p.stamp = clock_now();
  p.echo = m_recent;
  p.ack = m_told = m_expected;
  for (auto const &e : m_early) p.sacks.emplace_back(e.first, e.first + e.second.buffer.size());
  m_ack_waits = false;  // it goes with this
  m_since_ack = 0;
  ++m_ack_number;
  if (m_recovering) m_prr_out += 1.0;
  socket->oracle_send(std::move(p));
}

void Tcp::restart_after_idle() {
  if (!m_ever_sent || !m_sent.empty() || !tcp_options.idle_reset) return;
  double idle = since(m_last_sent);
  if (m_epoch && m_unsent.size() > m_unsent_from) m_epoch_at += Clock::now() - m_last_sent;  // cubictcp_cwnd_event
  if (idle <= m_rto) return;
  m_ssthresh = std::max(m_ssthresh, 0.75 * m_cwnd);  // tcp_current_ssthresh
  double const restart = std::min(INITIAL_WINDOW, m_cwnd);
  while ((idle -= m_rto) > 0.0 && m_cwnd > restart) m_cwnd *= 0.5;
  m_cwnd = std::max(m_cwnd, restart);
  m_stamp = Clock::now();
  m_used = 0.0;
}

bool Tcp::send_new() {
  std::size_t const left = m_unsent.size() - m_unsent_from;
  if (left == 0) return false;
  std::size_t const n = std::min<std::size_t>(left, MSS);
  if (n < MSS && m_small_end > m_una) return false;  // Nagle, Minshall's variant
  Segment s;
  s.at = m_next;
  auto const from = m_unsent.begin() + std::ptrdiff_t(m_unsent_from);
  s.data.assign(from, from + std::ptrdiff_t(n));
  m_unsent_from += n;
  if (m_unsent_from > 1 << 16 || m_unsent_from == m_unsent.size()) {
    m_unsent.erase(m_unsent.begin(), m_unsent.begin() + std::ptrdiff_t(m_unsent_from));
    m_unsent_from = 0;
  }
  m_next += n;
  if (n < MSS) m_small_end = m_next;
  m_sent.push_back(std::move(s));
  transmit(m_sent.back());
  return true;
}

void Tcp::send() {
  if (!socket) return;
  restart_after_idle();
  bool sent = false, held_by_window = false;
  while (true) {
    if (flight() >= int(m_cwnd + 1e-9)) {
      held_by_window = m_missing > 0 || m_unsent.size() > m_unsent_from;
      break;
    }
    if (m_missing > 0) {
      for (auto &s : m_sent)
        if (s.lost) {
          s.lost = false;
          s.again = true;
          --m_missing;
          transmit(s);
          break;
        }
    } else if (!send_new()) {
      break;
    }
    sent = true;
  }
  if (!sent && !held_by_window) return;
  // tcp_cwnd_validate
  int const out = int(m_sent.size());
  if (m_una >= m_usage_until || held_by_window || (!m_limited && out > m_most_out)) {
    m_limited = held_by_window;
    m_most_out = out;
    m_usage_until = m_next;
  }
  bool const growing = m_cwnd < m_ssthresh;
  if (m_limited || (growing && m_cwnd < 2.0 * m_most_out)) {
    m_used = 0.0;
    m_stamp = Clock::now();
  } else {
    m_used = std::max(m_used, double(out));
    if (tcp_options.idle_reset && !m_recovering && since(m_stamp) >= m_rto) {  // tcp_cwnd_application_limited
      double const used = std::max(m_used, INITIAL_WINDOW);
      if (used < m_cwnd) {
        m_ssthresh = std::max(m_ssthresh, 0.75 * m_cwnd);
        m_cwnd = 0.5 * (m_cwnd + used);
      }
      m_used = 0.0;
      m_stamp = Clock::now();
    }
  }
  if (sent) {
    if (m_timeout_at == Time::max()) m_timeout_at = after(std::min(m_rto * m_backoff, RTO_MAX));
    probe();
    arm();
  }
}

void Tcp::grow(int acked) {
  m_stamp = Clock::now();  // tcp_cong_avoid
  bool const slow = m_cwnd < m_ssthresh;
  if (tcp_options.window_validation && !m_limited && !(slow && m_cwnd < 2.0 * m_most_out)) return;
  double n = acked;
  if (slow) {
    double const most = std::min(m_cwnd + n, std::max(m_cwnd, m_ssthresh));
    n -= most - m_cwnd;
    m_cwnd = most;
  }
  if (n > 0.0) m_cwnd += tcp_options.cubic ? n * cubic_growth() : n / m_cwnd;
  m_cwnd = std::min(m_cwnd, MOST_WINDOW);
}

// What each segment acknowledged adds (RFC 9438, sections 4.2 to 4.5).
double Tcp::cubic_growth() {
  if (!m_epoch) {
    m_epoch = true;
    m_epoch_at = Clock::now();
    m_w_start = m_w_reno = m_cwnd;
    if (m_w_max < m_cwnd) m_w_max = m_cwnd;
    m_k = std::cbrt((m_w_max - m_cwnd) / CUBIC_C);
  }
  double const t = since(m_epoch_at) + m_min_rtt;
  double const target = std::clamp(CUBIC_C * std::pow(t - m_k, 3.0) + m_w_max, m_cwnd, 1.5 * m_cwnd);
  double const alpha = m_w_reno >= m_w_max ? 1.0 : 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);
  m_w_reno += alpha / m_cwnd;
  return std::max((target - m_cwnd) / m_cwnd, (m_w_reno - m_cwnd));
}

// Slow start ends before the queue is full (tcp_cubic.c, hystart_update).
void Tcp::hystart(double rtt) {
  if (m_cwnd >= m_ssthresh || !tcp_options.cubic) return;
  Time const now = Clock::now();
  if (m_una > m_round_end) {
    m_round_end = m_next;
    m_samples = 0;
    m_round_min = 1e9;
    m_round_at = m_train_at = now;
  }
  if (m_cwnd < HYSTART_LOW) return;
  bool found = false;
  if (since(m_train_at) <= HYSTART_GAP) {
    m_train_at = now;
    found = since(m_round_at) > 0.5 * m_min_rtt;
  }
  m_round_min = std::min(m_round_min, rtt);
  if (m_samples < HYSTART_SAMPLES)
    ++m_samples;
  else
    found |= m_round_min > m_min_rtt + std::clamp(m_min_rtt / 8.0, HYSTART_LEAST, HYSTART_MOST);
  if (found) m_ssthresh = m_cwnd;
}

// What a loss leaves of the window.
double Tcp::reduced() {
  if (!tcp_options.cubic) return std::max(LEAST_WINDOW, std::floor(RENO_BETA * m_cwnd));
  m_w_max = m_cwnd < m_w_max ? 0.5 * (1.0 + CUBIC_BETA) * m_cwnd : m_cwnd;
  m_epoch = false;
  return std::max(LEAST_WINDOW, std::floor(CUBIC_BETA * m_cwnd));
}

void Tcp::estimate(double rtt) {
  m_min_rtt = std::min(m_min_rtt, rtt);
  if (m_srtt < 0.0) {
    m_srtt = rtt;
    m_rttvar = 0.5 * rtt;
  } else {
    m_rttvar += 0.25 * (std::fabs(m_srtt - rtt) - m_rttvar);
    m_srtt += 0.125 * (rtt - m_srtt);
  }
  m_rto = std::max(RTO_MIN, m_srtt + std::max(RTO_MIN, 4.0 * m_rttvar));
}

// What an ACK says, whether it travels alone or with data.
void Tcp::acknowledged(Packet const &p) {
  auto const ack = p.ack;
  int delivered = 0, acked = 0;
  bool const advances = ack > m_una;
  auto note = [&](Segment const &s) {  // RFC 8985, section 6.2, step 2
    double const rtt = since(s.sent);
    double const sent = std::chrono::duration<double>(s.sent.time_since_epoch()).count();
    if (s.again && (rtt < m_min_rtt || p.echo < sent)) return;
    m_rack_rtt = rtt;
    if (!m_rack_any || s.serial > m_rack_serial) {
      m_rack_any = true;
      m_rack_sent = s.sent;
      m_rack_serial = s.serial;
    }
  };
  double rtt = -1.0;
  while (!m_sent.empty() && m_sent.front().at + m_sent.front().data.size() <= ack) {
    Segment &s = m_sent.front();
    if (s.sacked) {
      --m_sacked;
    } else {
      ++delivered;
      if (s.lost) --m_missing;
      if (!s.again) rtt = since(s.sent);
      note(s);
    }
    ++acked;
    m_queued -= s.data.size();
    m_una = s.at + s.data.size();
    m_sent.pop_front();
  }
  for (auto const &range : p.sacks)
    for (auto &s : m_sent) {
      if (s.at + s.data.size() > range.second) break;
      if (s.at < range.first || s.sacked) continue;
      s.sacked = true;
      ++m_sacked;
      ++delivered;
      if (s.lost) {
        s.lost = false;
        --m_missing;
      }
      if (!s.again) rtt = since(s.sent);
      note(s);
    }
  if (delivered == 0) return;
  if (rtt < 0.0 && advances && p.echo > 0.0) rtt = clock_now() - p.echo;  // tcp_ack_update_rtt
  if (rtt >= 0.0) {
    estimate(rtt);
    hystart(rtt);
  }
  if (advances) {
    m_backoff = 1.0;
    m_timeout_at = m_sent.empty() ? Time::max() : after(std::min(m_rto, RTO_MAX));
  }
  if (m_probe_out && m_una >= m_probe_end) {
    if (m_probe_again && m_una > m_probe_end) {  // the probe repaired a loss that nobody saw
      m_ssthresh = reduced();
      m_cwnd = m_ssthresh;
    }
    m_probe_out = false;
  }
  if (m_after_timeout && advances && p.echo > 0.0 && p.echo < m_timed_out_at) undo();
  bool const was_recovering = m_recovering;
  if ((m_recovering || m_after_timeout) && m_una >= m_recover) {
    if (m_recovering) m_cwnd = m_ssthresh;
    m_recovering = m_after_timeout = false;
  }
  int const found = find_losses();
  if (found > 0 && !m_recovering && !m_after_timeout) {
    enter_recovery();
    reduce_in_recovery(delivered, false);
  } else if (m_recovering) {
    reduce_in_recovery(delivered, advances && found == 0);
  } else if (advances && !was_recovering) {
    grow(acked);
  }
  probe();
  arm();
  send();
  if (socket && logging("tcp")) {
    boost::system::error_code ec;
    line("tcp", number(socket->local_endpoint(ec).address()),
         "\"to\": %d, \"acked\": %d, \"flight\": %d, \"window\": %.2f, \"ssthresh\": %.1f, \"rtt\": %.4f, \"state\": %d, \"queued\": %d",
         number(socket->remote_endpoint(ec).address()), delivered, flight(), m_cwnd, std::min(m_ssthresh, 1e6), rtt,
         int(m_recovering) + 2 * int(m_after_timeout), int(m_queued));
  }
  auto const all = std::max(SEND_BUFFER, 2.0 * m_cwnd * MSS);
  if (m_full && room() >= all / 3.0) {
    m_full = false;
    if (socket) socket->oracle_writable();
  }
}

int Tcp::find_losses() {
  m_settle_at = Time::max();
  if (!m_rack_any) return 0;
  double const window =
      m_recovering || m_after_timeout || m_sacked >= DUPLICATES ? 0.0 : std::min(0.25 * m_min_rtt, m_srtt);
  int found = 0;
  for (auto &s : m_sent) {
    if (s.sacked || s.lost || s.serial >= m_rack_serial) continue;
    double const left = m_rack_rtt + window - since(s.sent);
    if (left <= 1e-9) {
      s.lost = true;
      ++m_missing;
      ++found;
    } else {
      m_settle_at = std::min(m_settle_at, after(left + GRANULARITY));
    }
  }
  return found;
}

void Tcp::enter_recovery() {
  m_prr_flight = double(flight() + m_missing);
  m_ssthresh = reduced();
  m_recover = m_next;
  m_recovering = true;
  m_prr_delivered = m_prr_out = 0.0;
  m_probe_out = false;
}

void Tcp::reduce_in_recovery(int delivered, bool safe) {
  m_prr_delivered += delivered;
  double allowed;
  if (flight() > m_ssthresh)
    allowed = std::ceil(m_prr_delivered * m_ssthresh / m_prr_flight) - m_prr_out;
  else
    allowed = std::min(m_ssthresh - flight(), std::max(m_prr_delivered - m_prr_out, double(delivered)) + (safe ? 1 : 0));
  m_cwnd = flight() + std::max(allowed, m_prr_out > 0.0 ? 0.0 : 1.0);
}

// The timer fired though nothing was lost: what came was sent before (tcp_try_undo_loss, tcp_packet_delayed).
void Tcp::undo() {
  for (auto &s : m_sent)
    if (s.lost) {
      s.lost = false;
      --m_missing;
    }
  m_cwnd = std::max(m_cwnd, m_before_cwnd);
  m_ssthresh = m_before_ssthresh;
  m_after_timeout = false;
}

void Tcp::timeout() {
  if (!m_after_timeout) {
    m_before_cwnd = m_cwnd;
    m_before_ssthresh = m_ssthresh;
    m_timed_out_at = clock_now();
  }
  m_ssthresh = reduced();
  m_w_max = 0.0;  // cubictcp_state: the curve starts where slow start ends
  m_cwnd = 1.0;
  bool first = true;
  for (auto &s : m_sent) {
    if (s.sacked) continue;
    if (!s.lost && (first || since(s.sent) >= m_rack_rtt)) {
      s.lost = true;
      ++m_missing;
    }
    first = false;
  }
  m_recovering = false;
  m_after_timeout = true;
  m_recover = m_next;
  m_backoff = std::min(2.0 * m_backoff, 1024.0);
  m_probe_out = false;
  m_probe_at = m_settle_at = Time::max();
  m_timeout_at = after(std::min(m_rto * m_backoff, RTO_MAX));
  send();
}

// Sets when a tail loss probe is due (RFC 8985, section 7.2).
void Tcp::probe() {
  m_probe_at = Time::max();
  if (m_probe_out || m_recovering || m_after_timeout || m_sent.empty() || m_sacked + m_missing > 0 || m_srtt < 0.0)
    return;
  Time const due = after(2.0 * m_srtt + (m_sent.size() == 1 ? RTO_MIN : GRANULARITY));
  m_probe_at = std::min(due, m_timeout_at);
}

void Tcp::arm() {
  Time const due = std::min({m_timeout_at, m_settle_at, m_probe_at});
  if (due == Time::max() || m_woken_for <= due) return;
  m_woken_for = due;
  calendar().at(due, [self = shared_from_this(), due] {
    if (self->m_woken_for != due) return;
    self->m_woken_for = Time::max();
    self->timer();
  });
}

void Tcp::timer() {
  if (!socket) return;
  Time const now = Clock::now();
  if (m_probe_at <= now) {  // in place of the timeout, if that is not later (tcp_schedule_loss_probe)
    m_probe_at = Time::max();
    m_probe_out = true;
    m_probe_again = !send_new();
    if (m_probe_again && !m_sent.empty()) {
      m_sent.back().again = true;
      transmit(m_sent.back());
    }
    m_probe_end = m_next;
    m_timeout_at = after(std::min(m_rto * m_backoff, RTO_MAX));
  } else if (m_timeout_at <= now) {
    if (m_sent.empty())
      m_timeout_at = Time::max();
    else
      timeout();
  } else if (m_settle_at <= now) {
    if (find_losses() > 0 && !m_recovering && !m_after_timeout) {
      enter_recovery();
      reduce_in_recovery(0, false);
    }
    send();
  }
  arm();
}

// -- receiver ---------------------------------------------------------------------------------------------------------

void Tcp::arrived(Packet p) {
  auto const self = shared_from_this();
  if (p.type == Packet::type_t::payload) {
    Packet told;  // what it says of our own data
    told.ack = p.ack;
    told.echo = p.echo;
    told.sacks = std::move(p.sacks);
    if (p.seq_nr <= m_told) m_recent = p.stamp;
    bool const full = int(p.buffer.size()) == MSS;
    bool const in_order = p.seq_nr == m_expected && m_early.empty();
    if (p.seq_nr >= m_expected) m_early.emplace(p.seq_nr, std::move(p));
    bool news = false;
    while (!m_early.empty() && m_early.begin()->first <= m_expected) {
      Packet next = std::move(m_early.begin()->second);
      m_early.erase(m_early.begin());
      if (next.seq_nr < m_expected) continue;
      m_expected += next.buffer.size();
      news = true;
      socket->oracle_receive(std::move(next));
    }
    if (full) ++m_since_ack;
    if (!in_order || m_since_ack >= 2 || m_quick > 0) {
      if (m_quick > 0) --m_quick;
      acknowledge();
    } else if (!m_ack_waits) {
      m_ack_waits = true;
      auto const number = ++m_ack_number;
      calendar().at(after(ACK_DELAY), [self, number] {
        if (self->m_ack_waits && self->m_ack_number == number) self->acknowledge();
      });
    }
    acknowledged(told);
    if (news && socket) socket->oracle_readable();
  } else {
    acknowledged(p);
  }
}

void Tcp::acknowledge() {
  m_ack_waits = false;
  m_since_ack = 0;
  ++m_ack_number;
  if (!socket) return;
  Packet p;
  p.type = Packet::type_t::ack;
  p.overhead = HEADER;
  p.echo = m_recent;
  p.ack = m_told = m_expected;
  for (auto const &e : m_early) p.sacks.emplace_back(e.first, e.first + e.second.buffer.size());
  socket->oracle_send(std::move(p));
}

}  // namespace oracle
