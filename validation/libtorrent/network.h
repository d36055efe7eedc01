// The simulated network: an access link each way for every peer, and a core that delays and loses.
#pragma once

#include "simulator/packet.hpp"
#include "simulator/simulator.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace oracle {

using Clock = sim::chrono::high_resolution_clock;
using Time = Clock::time_point;
using Packet = sim::aux::packet;

Time after(double s);    // so many seconds from now

// Calls functions at their times, by one timer of the simulator's, in the order in which they were asked for.
class Calendar {
 public:
  explicit Calendar(sim::asio::io_context &ios) : m_timer(ios) {}
  void at(Time when, std::function<void()> what);

 private:
  struct Entry {
    Time when;
    std::uint64_t serial;
    std::function<void()> what;
    bool operator<(Entry const &other) const {
      return when != other.when ? when > other.when : serial > other.serial;
    }
  };
  void run();
  void arm();

  sim::asio::high_resolution_timer m_timer;
  std::vector<Entry> m_heap;
  std::uint64_t m_serial = 0;
  Time m_armed = Time::max();
};

Calendar &calendar();
void set_calendar(Calendar *c);

int wire_size(Packet const &p);  // with all headers [B]

// One direction of an access link: a rate and a drop-tail buffer. The packet in service does not count as waiting.
struct Link : sim::sink, std::enable_shared_from_this<Link> {
  double rate = 0.0;  // [B/s]; 0: as fast as can be
  int room = 0;       // packets that may wait
  bool watched = false;  // the mean queue is of the time while it is

  void incoming_packet(Packet p) override;
  std::string label() const override { return "link"; }
  void watch(bool on);
  double mean_queue() const;  // time until it would be empty, a mean [s]
  std::int64_t packets = 0, dropped = 0, bytes = 0;

 private:
  void offer(Packet p, double wait);  // a SYN that is dropped comes again then [s]
  void serve();
  void account();

  std::deque<Packet> m_waiting;
  bool m_busy = false;
  double m_backlog = 0.0;  // [B], that in service included
  Time m_looked{};
  double m_area = 0.0, m_time = 0.0;
};

// The core, one way from one peer to another.
struct Core : sim::sink {
  double delay = 0.0;  // [s]
  double loss = 0.0;
  std::mt19937_64 *random = nullptr;

  void incoming_packet(Packet p) override;
  std::string label() const override { return "core"; }
};

struct Access {
  std::shared_ptr<Link> up, down;
  double delay = 0.0;  // one way, beside the core's [s]
};

struct Network : sim::configuration {
  double rtt = 0.0, loss = 0.0;
  std::mt19937_64 random;
  std::map<sim::asio::ip::address, Access> access;

  void build(sim::simulation &) override {}
  void clear() override {}
  sim::route channel_route(sim::asio::ip::address from, sim::asio::ip::address to) override;
  sim::route incoming_route(sim::asio::ip::address ip) override;
  sim::route outgoing_route(sim::asio::ip::address ip) override;
  int path_mtu(sim::asio::ip::address, sim::asio::ip::address) override { return 1500; }
  Clock::duration hostname_lookup(sim::asio::ip::address const &, std::string,
                                  std::vector<sim::asio::ip::address> &, boost::system::error_code &ec) override;

 private:
  std::map<std::pair<sim::asio::ip::address, sim::asio::ip::address>, std::shared_ptr<Core>> m_cores;
};

}  // namespace oracle
