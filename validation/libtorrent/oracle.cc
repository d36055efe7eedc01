// Runs one swarm of real clients in virtual time. README.md says what its settings are and what it writes.
#include "disk.h"
#include "log.h"
#include "tcp.h"

#include "libtorrent/add_torrent_params.hpp"
#include "libtorrent/alert_types.hpp"
#include "libtorrent/aux_/session_impl.hpp"
#include "libtorrent/bencode.hpp"
#include "libtorrent/create_torrent.hpp"
#include "libtorrent/random.hpp"
#include "libtorrent/session.hpp"
#include "libtorrent/session_params.hpp"
#include "libtorrent/settings_pack.hpp"
#include "libtorrent/torrent_info.hpp"
#include "libtorrent/version.hpp"
#include "simulator/http_server.hpp"

#include <sys/personality.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

namespace oracle {

struct Peer {
  int number = 0;
  std::string klass, transports;
  bool seed = false, leaves = false;
  double start = 0.0, uplink = 0.0, downlink = 0.0, delay = 0.0;
  int up_room = 0, down_room = 0;
  int limit = 0, slots = 8, allowed_fast = 5;
  bool overhead = true;
  std::string mixed;

  lt::address ip, tracker_ip;
  std::unique_ptr<sim::asio::io_context> ios, tracker_ios;
  std::unique_ptr<sim::http_server> tracker;
  std::unique_ptr<lt::session> session;
  lt::torrent_handle torrent;
  double begun = -1.0, done = -1.0, first = -1.0;
  std::int64_t up = 0, down = 0;
};

struct Run {
  double horizon = 3600.0, rtt = 0.0, loss = 0.0;
  int file_size = 0, piece_size = 0, reply = 200;
  unsigned seed = 1;
  std::vector<Peer> peers;
};

namespace {

std::FILE *log_file = nullptr, *answer = nullptr;
char kinds[512];
std::map<void const *, int> owners;
std::map<lt::address, int> numbers;
Time origin;

double now() { return std::chrono::duration<double>(Clock::now() - origin).count(); }

[[noreturn]] void refuse(std::string const &why) {
  std::cerr << "oracle: " << why << "\n";
  std::exit(2);
}

// Each line: a name and its value, or `peer` and pairs name=value.
Run read(std::istream &in) {
  Run run;
  std::string text;
  while (std::getline(in, text)) {
    std::istringstream line(text);
    std::string name;
    if (!(line >> name) || name[0] == '#') continue;
    if (name == "peer") {
      Peer p;
      p.number = int(run.peers.size());
      std::string pair;
      while (line >> pair) {
        auto const at = pair.find('=');
        if (at == std::string::npos) refuse("peer: \"" + pair + "\" is no name=value");
        std::string const key = pair.substr(0, at), value = pair.substr(at + 1);
        std::istringstream v(value);
        bool ok = true;
        if (key == "class") p.klass = value;
        else if (key == "transports") p.transports = value;
        else if (key == "mixed") p.mixed = value;
        else if (key == "seed") ok = bool(v >> p.seed);
        else if (key == "leaves") ok = bool(v >> p.leaves);
        else if (key == "overhead") ok = bool(v >> p.overhead);
        else if (key == "start") ok = bool(v >> p.start);
        else if (key == "uplink") ok = bool(v >> p.uplink);
        else if (key == "downlink") ok = bool(v >> p.downlink);
        else if (key == "delay") ok = bool(v >> p.delay);
        else if (key == "up_room") ok = bool(v >> p.up_room);
        else if (key == "down_room") ok = bool(v >> p.down_room);
        else if (key == "limit") ok = bool(v >> p.limit);
        else if (key == "slots") ok = bool(v >> p.slots);
        else if (key == "allowed_fast") ok = bool(v >> p.allowed_fast);
        else refuse("peer: no setting is called \"" + key + "\"");
        if (!ok) refuse("peer: " + key + " = \"" + value + "\" is no number");
      }
      run.peers.push_back(std::move(p));
      continue;
    }
    bool ok = true;
    if (name == "horizon") ok = bool(line >> run.horizon);
    else if (name == "cubic") ok = bool(line >> tcp_options.cubic);
    else if (name == "file_size") ok = bool(line >> run.file_size);
    else if (name == "piece_size") ok = bool(line >> run.piece_size);
    else if (name == "reply") ok = bool(line >> run.reply);
    else if (name == "seed") ok = bool(line >> run.seed);
    else if (name == "idle_reset") ok = bool(line >> tcp_options.idle_reset);
    else if (name == "window_validation") ok = bool(line >> tcp_options.window_validation);
    else if (name == "rtt") ok = bool(line >> run.rtt);
    else if (name == "loss") ok = bool(line >> run.loss);
    else refuse("no setting is called \"" + name + "\"");
    if (!ok) refuse(name + ": not a value");
  }
  if (run.peers.empty() || run.file_size <= 0 || run.piece_size <= 0) refuse("no peer, or no file_size or piece_size");
  return run;
}

std::shared_ptr<lt::torrent_info> torrent_of(Run const &run, std::string const &tracker) {
  lt::file_storage files;
  files.add_file("file", run.file_size);
  lt::create_torrent made(files, run.piece_size, lt::create_torrent::v1_only);
  for (auto const piece : made.files().piece_range()) made.set_hash(piece, zeros(made.files().piece_size(piece)));
  std::vector<char> text;
  lt::bencode(std::back_inserter(text), made.generate());
  lt::error_code ec;
  auto info = std::make_shared<lt::torrent_info>(text, ec, lt::from_span);
  if (ec) refuse("torrent: " + ec.message());
  info->add_tracker(tracker);
  return info;
}

lt::settings_pack settings_of(Peer const &p) {
  using S = lt::settings_pack;
  S s;
  bool const utp = p.transports.find("utp") != std::string::npos, tcp = p.transports.find("tcp") != std::string::npos;
  s.set_str(S::listen_interfaces, p.ip.to_string() + ":6881");
  for (auto const name : {S::enable_dht, S::enable_lsd, S::enable_natpmp, S::enable_upnp}) s.set_bool(name, false);
  s.set_int(S::in_enc_policy, S::pe_disabled);
  s.set_int(S::out_enc_policy, S::pe_disabled);
  s.set_bool(S::enable_outgoing_utp, utp);
  s.set_bool(S::enable_outgoing_tcp, tcp);
  s.set_bool(S::enable_incoming_utp, true);
  s.set_bool(S::enable_incoming_tcp, true);
  s.set_int(S::upload_rate_limit, p.limit);
  s.set_bool(S::rate_limit_ip_overhead, p.overhead);
  s.set_int(S::unchoke_slots_limit, p.slots);
  s.set_int(S::allowed_fast_set_size, p.allowed_fast);
  if (p.mixed == "prefer-tcp") s.set_int(S::mixed_mode_algorithm, S::prefer_tcp);
  s.set_int(S::alert_mask, lt::alert_category::status);
  s.set_bool(S::allow_multiple_connections_per_ip, false);
  s.set_bool(S::announce_to_all_trackers, false);
  return s;
}

std::string compact(lt::address const &ip) {
  std::string six;
  for (auto const byte : ip.to_v4().to_bytes()) six += char(byte);
  return six + char(6881 >> 8) + char(6881 & 255);
}

struct Swarm {
  Run &run;
  sim::simulation &sim;
  std::mt19937_64 random;
  std::set<int> registered;
  int left;
  std::vector<lt::session_proxy> ended;

  // A reply of the tracker: random others that have announced themselves; a seed is told of no seeds.
  std::string reply(Peer const &p) {
    std::vector<int> others;
    for (int const q : registered)
      if (q != p.number && !(p.seed && run.peers[std::size_t(q)].seed)) others.push_back(q);
    std::shuffle(others.begin(), others.end(), random);
    if (int(others.size()) > run.reply) others.resize(std::size_t(run.reply));
    std::string peers;
    for (int const q : others) peers += compact(run.peers[std::size_t(q)].ip);
    registered.insert(p.number);
    std::string const body =
        "d8:completei1e10:incompletei1e8:intervali1800e5:peers" + std::to_string(peers.size()) + ":" + peers + "e";
    return sim::send_response(200, "OK", int(body.size())) + body;
  }

  void start(Peer &p) {
    lt::session_params params;
    params.settings = settings_of(p);
    bool const whole = p.seed;
    params.disk_io_constructor = [whole](lt::io_context &ios, lt::settings_interface const &, lt::counters &) {
      return std::unique_ptr<lt::disk_interface>(new Disk(ios, whole));
    };
    p.session = std::make_unique<lt::session>(std::move(params), *p.ios);
    auto *impl = p.session->native_handle().get();
    owners[static_cast<lt::aux::session_interface *>(impl)] = p.number;
    p.session->set_alert_notify([this, &p] { post(*p.ios, [this, &p] { alerts(p); }); });
    lt::add_torrent_params torrent;
    torrent.ti = torrent_of(run, "http://" + p.tracker_ip.to_string() + ":8080/announce");
    torrent.save_path = ".";
    torrent.flags &= ~(lt::torrent_flags::paused | lt::torrent_flags::auto_managed);
    p.session->async_add_torrent(std::move(torrent));
    p.begun = now();
    m_net->access[p.ip].up->watch(true);
  }

  void alerts(Peer &p) {
    if (!p.session) return;
    std::vector<lt::alert *> found;
    p.session->pop_alerts(&found);
    for (auto *a : found) {
      if (auto const *added = lt::alert_cast<lt::add_torrent_alert>(a)) {
        p.torrent = added->handle;
      } else if (lt::alert_cast<lt::torrent_finished_alert>(a) && !p.seed && p.done < 0.0) {
        p.done = now();
        note(p);
        if (p.leaves) leave(p);
        if (--left == 0) finish();
      }
    }
  }

  void note(Peer &p) {
    if (!p.session || !p.torrent.is_valid()) return;
    auto const status = p.torrent.status({});
    p.up = status.total_payload_upload;
    p.down = status.total_payload_download;
  }

  void leave(Peer &p) {
    registered.erase(p.number);
    m_net->access[p.ip].up->watch(false);
    ended.push_back(p.session->abort());
    p.session.reset();
  }

  [[noreturn]] void finish() {
    std::fprintf(answer, "{\"version\": \"%s\", \"end\": %.6f, \"peers\": [", lt::version(), now());
    char const *comma = "";
    for (auto &p : run.peers) {
      note(p);
      m_net->access[p.ip].up->watch(false);
      std::fprintf(answer, "%s\n{\"peer\": %d, \"class\": \"%s\", \"seed\": %d, \"start\": %.6f, \"done\": %.6f, \"up\": %lld, "
                  "\"down\": %lld, \"queue\": %.6f, \"sent\": %lld, \"packets\": %lld, \"dropped\": %lld}",
                  comma, p.number, p.klass.c_str(), p.seed, p.begun, p.done, (long long)p.up, (long long)p.down,
                  m_net->access[p.ip].up->mean_queue(), (long long)m_net->access[p.ip].up->bytes,
                  (long long)m_net->access[p.ip].up->packets, (long long)m_net->access[p.ip].up->dropped);
      comma = ",";
    }
    std::fprintf(answer, "\n]}\n");
    std::fflush(answer);
    std::fclose(log_file);
    std::_Exit(0);
  }

  Network *m_net = nullptr;
};

lt::address address(int net, int i) {
  return lt::make_address_v4(std::to_string(net) + ".0." + std::to_string(i / 250) + "." + std::to_string(1 + i % 250));
}

int main(std::string const &path) {
  std::ifstream file(path);
  if (!file) refuse(path + ": cannot be read");
  Run run = read(file);
  // libsimulator talks on standard output
  answer = fdopen(dup(1), "w");
  if (!std::freopen("/dev/null", "w", stdout)) refuse("/dev/null: cannot be opened");
  Network net;
  net.rtt = run.rtt;
  net.loss = run.loss;
  net.random.seed(run.seed * 7919u + 1u);
  // The log is open in any case: what it takes of the heap would move connections, and with them their order in sets.
  char const *const log = std::getenv("ORACLE_LOG"), *const wanted = std::getenv("ORACLE_KINDS");
  log_file = std::fopen(log ? log : "/dev/null", "w");
  if (!log_file) refuse(std::string(log) + ": cannot be written");
  std::snprintf(kinds, sizeof kinds, ",%s,", log ? wanted ? wanted : "all" : "");
  std::fprintf(log_file, "{\"log\": 1, \"version\": \"%s\"}\n", lt::version());
  for (auto &p : run.peers) {
    p.ip = address(50, p.number);
    p.tracker_ip = address(61, p.number);
    numbers[p.ip] = p.number;
    auto &access = net.access[p.ip];
    access.up = std::make_shared<Link>();
    access.down = std::make_shared<Link>();
    access.up->rate = p.uplink;
    access.up->room = p.up_room;
    access.down->rate = p.downlink;
    access.down->room = p.down_room;
    access.delay = p.delay;
  }
  sim::simulation sim(net);
  origin = Clock::now();
  Calendar calendar(sim.get_io_context());
  set_calendar(&calendar);
  lt::aux::random_engine().seed(run.seed);
  Swarm swarm{run, sim, std::mt19937_64(run.seed * 104729u + 3u), {}, 0, {}, &net};
  // sets of pointers are ordered by addresses, which follow from the order of creation
  std::vector<Peer *> order;
  for (auto &p : run.peers) order.push_back(&p);
  std::shuffle(order.begin(), order.end(), swarm.random);
  for (auto *p : order) {
    swarm.left += !p->seed;
    p->ios = std::make_unique<sim::asio::io_context>(sim, p->ip);
    p->tracker_ios = std::make_unique<sim::asio::io_context>(sim, p->tracker_ip);
    p->tracker = std::make_unique<sim::http_server>(*p->tracker_ios, 8080);
    p->tracker->register_handler("/announce", [&swarm, p](std::string, std::string path, std::map<std::string, std::string> &) {
      if (path.find("event=stopped") != std::string::npos) swarm.registered.erase(p->number);
      return swarm.reply(*p);
    });
    calendar.at(after(std::max(p->start, 1e-6)), [&swarm, p] { swarm.start(*p); });
  }
  calendar.at(after(run.horizon), [&swarm] { swarm.finish(); });
  sim.run();
  swarm.finish();
}

}  // namespace

bool logging(char const *kind) {
  char name[64];
  std::snprintf(name, sizeof name, ",%s,", kind);
  return std::strstr(kinds, name) || std::strstr(kinds, ",all,");
}

int owner(void const *session) {
  auto const found = owners.find(session);
  return found == owners.end() ? -1 : found->second;
}

int number(lt::address const &ip) {
  auto const found = numbers.find(ip);
  return found == numbers.end() ? -1 : found->second;
}

void line(char const *kind, int peer, char const *format, ...) {
  std::fprintf(log_file, "{\"t\": %.6f, \"kind\": \"%s\", \"peer\": %d, ", now(), kind, peer);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(log_file, format, arguments);
  va_end(arguments);
  std::fputs("}\n", log_file);
}

void add(std::string &list, char const *format, ...) {
  char entry[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(entry, sizeof entry, format, arguments);
  va_end(arguments);
  if (!list.empty()) list += ", ";
  list += entry;
}

}  // namespace oracle

int main(int n, char **arguments) {
  if (n != 2) {
    std::cerr << "oracle SETTINGS\n";
    return 2;
  }
  // addresses that differ from run to run would change the order of sets of pointers
  if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
    personality(ADDR_NO_RANDOMIZE);
    execv("/proc/self/exe", arguments);
  }
  oracle::main(arguments[1]);
}
