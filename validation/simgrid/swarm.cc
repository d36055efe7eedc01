// A flash crowd of BitTorrent peers on SimGrid: python -m validation.simgrid builds and runs it, README.md says what it is.
#include "peer.h"

#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

namespace s4u = simgrid::s4u;

namespace
{

/// --NAME=VALUE of the command line; every one must be given.
double
Option(const std::map<std::string, double>& options, const std::string& name)
{
    const auto found = options.find(name);
    if (found == options.end())
    {
        std::cerr << "--" << name << " is missing" << std::endl;
        std::exit(2);
    }
    return found->second;
}

std::map<std::string, double>
Options(int argc, char** argv)
{
    std::map<std::string, double> options;
    for (int i = 1; i < argc; ++i)
    {
        const std::string word = argv[i];
        const size_t equals = word.find('=');
        if (!word.starts_with("--") || equals == std::string::npos)
        {
            std::cerr << word << " is no --NAME=VALUE" << std::endl;
            std::exit(2);
        }
        options[word.substr(2, equals - 2)] = std::stod(word.substr(equals + 1));
    }
    return options;
}

double
CpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// A star of hosts, whose only links are their uplinks: nothing else is limited, as in the swarm that we compare with.
std::vector<s4u::Host*>
MakeHosts(s4u::NetZone* zone, uint32_t peers, double uplink, double rtt)
{
    std::vector<s4u::Host*> hosts;
    for (uint32_t i = 0; i < peers; ++i)
    {
        s4u::Host* host = zone->add_host("peer-" + std::to_string(i), 1e9);
        s4u::Link* up = zone->add_link("up-" + std::to_string(i), uplink)->set_latency(rtt / 2);
        zone->add_route(host, nullptr, {s4u::LinkInRoute(up)}, false);
        zone->add_route(nullptr, host, std::vector<s4u::LinkInRoute>{}, false);
        hosts.push_back(host);
    }
    zone->seal();
    return hosts;
}

void
Print(const Swarm& swarm, double cpu)
{
    double mean = 0;
    double last = 0;
    uint64_t wasted = 0;
    for (size_t i = 1; i < swarm.peers.size(); ++i)
    {
        const Peer& peer = *swarm.peers[i];
        mean += (peer.doneAt - peer.startedAt) / swarm.leechers;
        last = std::max(last, peer.doneAt);
        wasted += peer.wastedB;
    }
    std::cout << "{\"completion_mean_s\": " << mean << ", \"completion_last_s\": " << last
              << ", \"seed_copies\": "
              << static_cast<double>(swarm.peers[0]->uploadedB) / static_cast<double>(swarm.torrent.fileB)
              << ", \"wasted_bytes\": " << wasted << ", \"communications\": " << swarm.network.communications
              << ", \"cpu_s\": " << cpu << "}" << std::endl;
}

} // namespace

int
main(int argc, char** argv)
{
    const double begin = CpuSeconds(); // what loading the program took is not the swarm's
    const auto options = Options(argc, argv);
    const auto leechers = static_cast<uint32_t>(Option(options, "leechers"));
    const auto seed = static_cast<uint32_t>(Option(options, "seed"));
    const double spread = Option(options, "spread");

    int words = 1;
    s4u::Engine engine(&words, argv);
    if (Option(options, "defaults") == 0)
    {
        // Max-min fair sharing alone: no factors for TCP's headers and slow start, and no ACKs on the way back, which
        // make one system of equations of all uplinks.
        s4u::Engine::set_config("network/model:CM02");
        s4u::Engine::set_config("network/crosstraffic:no");
    }
    auto* zone = engine.get_netzone_root()->add_netzone_star("swarm");
    const auto hosts = MakeHosts(zone, leechers + 1, Option(options, "uplink"), Option(options, "rtt"));

    Swarm swarm{
        .torrent = {static_cast<uint64_t>(Option(options, "file")),
                    static_cast<uint32_t>(Option(options, "piece")),
                    static_cast<uint32_t>(Option(options, "block"))},
        .slots = static_cast<uint32_t>(Option(options, "slots")),
        .hasMessages = Option(options, "messages") != 0,
        .leechers = leechers,
    };
    Random starts(seed, 0);
    for (uint32_t i = 0; i < hosts.size(); ++i)
    {
        const double start = i == 0 ? 0 : starts.UpTo(spread);
        swarm.peers.push_back(std::make_unique<Peer>(swarm, i, i == 0, seed, start, hosts[i]));
        hosts[i]->add_actor("peer", [&peer = *swarm.peers.back()] { peer(); });
    }
    engine.run();
    if (!swarm.IsDone())
    {
        std::cerr << swarm.leechers - swarm.done << " leechers did not finish" << std::endl;
        return 1;
    }
    Print(swarm, CpuSeconds() - begin);
    return 0;
}
