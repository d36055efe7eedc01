// A BitTorrent swarm on a star: leechers and one seeder with the rules of mainline 4.0, of two congestion controls.

#include "swarm_client.h"
#include "swarm_star.h"

#include <memory>

using namespace ns3;

namespace
{

constexpr uint32_t SEEDER = 0; // the number of its client
constexpr double SAMPLE_S = 0.1; // between two looks at the queues
constexpr double HORIZON_S = 3600;
const std::vector<int> PACKETS_OVER = {0, 1, 2, 5, 10, 15, 19, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99};
const std::vector<int> MS_OVER = {0, 10, 20, 50, 75, 100, 125, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1150};
const std::vector<std::pair<Kind, std::string>> TIMED = {{Kind::REQUEST, "request"},
                                                         {Kind::HAVE, "have"},
                                                         {Kind::UNCHOKE, "unchoke"}};

struct Options
{
    std::string mix = "cubic";
    std::string seeder;
    uint32_t leechers = 20;
    double up = 1e6;
    double down = 8e6;
    double delayMin = 1;
    double delayMax = 25;
    uint32_t buffer = 100;
    uint32_t file = 10'000'000;
    uint32_t piece = 256 << 10;
    uint32_t block = 16 << 10;
    double starts = 10;
    uint32_t sendBuffer = 65536;
    bool nagle = true;
    double rtoSlack = 200;
    uint32_t seed = 1;

    Options(int argc, char* argv[])
    {
        CommandLine line;
        line.AddValue("mix", "congestion control of the leechers, or half: cubic and ledbat", mix);
        line.AddValue("seeder", "that of the seeder; empty: the leechers', cubic in half", seeder);
        line.AddValue("leechers", "clients that start without the file", leechers);
        line.AddValue("up", "rate of an access link towards the core, bit/s", up);
        line.AddValue("down", "rate of an access link from the core, bit/s", down);
        line.AddValue("delay-min", "least propagation delay of an access link, one way, ms", delayMin);
        line.AddValue("delay-max", "most of it, ms", delayMax);
        line.AddValue("buffer", "packets waiting at most, in each direction of an access link", buffer);
        line.AddValue("file", "its size, B", file);
        line.AddValue("piece", "size of a piece, B", piece);
        line.AddValue("block", "size of a block, B", block);
        line.AddValue("starts", "time in which the leechers start, s", starts);
        line.AddValue("send-buffer", "bytes that a socket holds, sent and not acknowledged ones included", sendBuffer);
        line.AddValue("nagle", "whether small segments wait for each other", nagle);
        line.AddValue("rto-slack", "retransmission timeout less smoothed RTT, at least, ms", rtoSlack);
        line.AddValue("seed", "of delays, starts, classes and the clients' choices", seed);
        line.Parse(argc, argv);
        seeder = !seeder.empty() ? seeder : mix == "half" ? "cubic" : mix;
    }
};

/// What is drawn for a run; delays and starts do not depend on the mix.
struct Draw
{
    explicit Draw(const Options& options)
    {
        Random random(options.seed, 0);
        for (uint32_t number = 0; number <= options.leechers; ++number)
        {
            delays.push_back(1e-3 * (options.delayMin + random.UpTo(options.delayMax - options.delayMin)));
            starts.push_back(number == SEEDER ? 0 : random.UpTo(options.starts));
        }
        const bool isHalf = options.mix == "half";
        for (uint32_t leecher = 0; leecher < options.leechers; ++leecher)
        {
            classes.push_back(!isHalf ? options.mix : leecher < options.leechers / 2 ? "cubic" : "ledbat");
        }
        random.Shuffle(classes);
        classes.insert(classes.begin() + SEEDER, options.seeder);
    }

    std::vector<double> delays;       // s, by client
    std::vector<double> starts;       // s
    std::vector<std::string> classes; // congestion controls
};

/// The hosts' sockets: a listening one each, and how one is opened.
class Transport
{
  public:
    Transport(const Star& star, const std::vector<std::string>& classes, Client::Swarm& swarm)
        : m_star(star),
          m_swarm(swarm)
    {
        for (uint32_t number = 0; number < classes.size(); ++number)
        {
            m_controls.emplace_back(classes[number]);
            const Ptr<Socket> listener = NewSocket(number);
            listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
            listener->Listen();
            listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                        MakeBoundCallback(&Transport::Accepted, this, number));
            m_listeners.push_back(listener);
        }
    }

    Ptr<TcpSocketBase> Connect(uint32_t from, uint32_t to) const
    {
        const Ptr<TcpSocketBase> socket = NewSocket(from);
        Acknowledge(socket, to);
        socket->Bind();
        socket->Connect(InetSocketAddress(m_star.Address(to), PORT));
        return socket;
    }

  private:
    Ptr<TcpSocketBase> NewSocket(uint32_t number) const
    {
        const CongestionControl& control = m_controls[number];
        const auto tcp = m_star.Host(number)->GetObject<TcpL4Protocol>();
        tcp->SetAttribute("SocketType", TypeIdValue(control.type));
        const auto socket = DynamicCast<TcpSocketBase>(tcp->CreateSocket());
        if (control.isLedbat)
        {
            socket->SetAttribute("InitialCwnd", UintegerValue(2));
        }
        return socket;
    }

    /// How the data of another client are acknowledged: as its own congestion control expects it.
    void Acknowledge(Ptr<Socket> socket, uint32_t sender) const
    {
        if (m_controls[sender].isLedbat)
        {
            socket->SetAttribute("DelAckCount", UintegerValue(1));
        }
    }

    static void Accepted(Transport* transport, uint32_t number, Ptr<Socket> socket, const Address& address)
    {
        const uint32_t from = transport->m_star.Number(InetSocketAddress::ConvertFrom(address).GetIpv4());
        transport->Acknowledge(socket, from);
        const auto accepted = DynamicCast<TcpSocketBase>(socket);
        // The one copied from the listening socket has no value for CUBIC's TcpFriendliness.
        ObjectFactory fresh;
        fresh.SetTypeId(transport->m_controls[number].type);
        accepted->SetCongestionControlAlgorithm(fresh.Create<TcpCongestionOps>());
        transport->m_swarm.clients[number]->Accept(accepted, from);
    }

    const Star& m_star;
    Client::Swarm& m_swarm;
    std::vector<CongestionControl> m_controls;
    std::vector<Ptr<Socket>> m_listeners;
};

/// The leechers' uplink queues, looked at from the first leecher's start on.
class Queues
{
  public:
    Queues(const Star& star, const Draw& draw, double rate)
        : m_star(star),
          m_draw(draw),
          m_rate(rate)
    {
        const double first = *std::min_element(draw.starts.begin() + SEEDER + 1, draw.starts.end());
        Simulator::Schedule(Seconds(first), &Queues::Look, this);
    }

    struct Seen
    {
        Samples packets;
        Samples ms;
    };

    std::map<std::string, Seen> seen; // by class

  private:
    void Look()
    {
        for (uint32_t number = SEEDER + 1; number < m_draw.classes.size(); ++number)
        {
            Seen& queue = seen[m_draw.classes[number]];
            queue.packets.Add(m_star.QueuedPackets(number));
            queue.ms.Add(8e3 * m_star.QueuedBytes(number) / m_rate);
        }
        Simulator::Schedule(Seconds(SAMPLE_S), &Queues::Look, this);
    }

    const Star& m_star;
    const Draw& m_draw;
    double m_rate; // bit/s
};

void
AddQueue(Row& row, const std::string& unit, Samples& samples, const std::vector<int>& thresholds)
{
    row.Add("mean_" + unit, samples.Mean());
    for (int percent : {50, 90})
    {
        row.Add("p" + std::to_string(percent) + "_" + unit, samples.Percentile(percent));
    }
    for (int threshold : thresholds)
    {
        row.Add(unit + "_over_" + std::to_string(threshold), samples.FractionOver(threshold));
    }
}

std::string
Joined(const std::vector<Row>& rows)
{
    std::string text;
    for (const Row& row : rows)
    {
        text += (text.empty() ? "" : ", ") + row.Json();
    }
    return "[" + text + "]";
}

/// What a class did in a run.
struct Class
{
    Samples completions; // s
    std::map<Kind, Samples> delays;
    double timeouts = 0;
    double retransmitted = 0;
};

void
AddClass(Row& row, const std::string& name, Class& seen)
{
    row.Add(name + "_leechers", static_cast<double>(seen.completions.Count()));
    row.Add(name + "_completion_mean_s", seen.completions.Mean());
    row.Add(name + "_completion_p50_s", seen.completions.Percentile(50));
    row.Add(name + "_timeouts", seen.timeouts);
    row.Add(name + "_retransmitted", seen.retransmitted);
    for (const auto& [kind, called] : TIMED)
    {
        Samples& delays = seen.delays[kind];
        const std::string prefix = name + "_" + called;
        row.Add(prefix + "_messages", static_cast<double>(delays.Count()));
        row.Add(prefix + "_mean_ms", 1e3 * delays.Mean());
        row.Add(prefix + "_p50_ms", 1e3 * delays.Percentile(50));
        row.Add(prefix + "_p95_ms", 1e3 * delays.Percentile(95));
    }
}

void
Simulate(const Options& options)
{
    UseHostDefaults();
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(options.sendBuffer));
    const Time slack = Seconds(options.rtoSlack / 1e3);
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(slack));
    Config::SetDefault("Rfc6817Ledbat::NewEchoes", BooleanValue(true)); // data of the other side echo old ones

    const Draw draw(options);
    Star star({options.up, options.down, options.buffer}, draw.delays);
    Client::Swarm swarm{{options.file, options.piece, options.block}, options.nagle, {}, {}, {}};
    const Transport transport(star, draw.classes, swarm);
    swarm.connect = [&](uint32_t from, uint32_t to) { return transport.Connect(from, to); };
    uint32_t unfinished = options.leechers;
    swarm.onDone = [&] {
        if (--unfinished == 0)
        {
            Simulator::Stop();
        }
    };
    for (uint32_t number = 0; number < draw.classes.size(); ++number)
    {
        swarm.clients.push_back(std::make_unique<Client>(swarm, number, number == SEEDER, options.seed));
        Simulator::Schedule(Seconds(draw.starts[number]), &Client::Start, swarm.clients.back().get());
    }
    Queues queues(star, draw, options.up);
    Simulator::Stop(Seconds(HORIZON_S));
    Simulator::Run();

    std::map<std::string, Class> classes = {{"cubic", {}}, {"ledbat", {}}};
    std::vector<Row> leechers;
    double uploadedB = 0;
    double downloadedB = 0;
    double wastedB = 0;
    double wastedEarlyB = 0;
    for (uint32_t number = 0; number < draw.classes.size(); ++number)
    {
        Client& client = *swarm.clients[number];
        uploadedB += static_cast<double>(client.uploadedB);
        downloadedB += static_cast<double>(client.downloadedB);
        wastedB += static_cast<double>(client.wastedB);
        wastedEarlyB += static_cast<double>(client.wastedEarlyB);
        if (number == SEEDER)
        {
            continue;
        }
        const double completion = client.doneAt < 0 ? std::nan("") : client.doneAt - client.startedAt;
        Row row;
        row.Add("leecher", number);
        row.Add("class", draw.classes[number]);
        row.Add("delay_ms", 1e3 * draw.delays[number]);
        row.Add("start_s", client.startedAt);
        row.Add("completion_s", completion);
        row.Add("up_bytes", static_cast<double>(client.uploadedB));
        row.Add("down_bytes", static_cast<double>(client.downloadedB));
        row.Add("wasted_bytes", static_cast<double>(client.wastedB));
        leechers.push_back(row);
        Class& seen = classes[draw.classes[number]];
        seen.completions.Add(completion);
        seen.timeouts += static_cast<double>(client.Timeouts());
        seen.retransmitted += static_cast<double>(client.Retransmitted());
        for (const auto& [kind, called] : TIMED)
        {
            seen.delays[kind].Add(client.delays[kind]);
        }
    }

    std::vector<Row> rows;
    for (auto& [name, seen] : queues.seen)
    {
        Row row;
        row.Add("class", name);
        row.Add("samples", static_cast<double>(seen.packets.Count()));
        AddQueue(row, "packets", seen.packets, PACKETS_OVER);
        AddQueue(row, "ms", seen.ms, MS_OVER);
        rows.push_back(row);
    }

    Row run;
    run.Add("seeder", options.seeder);
    run.Add("simulated_s", NowSeconds());
    run.Add("unfinished", unfinished);
    run.Add("seeder_up_bytes", static_cast<double>(swarm.clients[SEEDER]->uploadedB));
    run.Add("up_bytes", uploadedB);
    run.Add("down_bytes", downloadedB);
    run.Add("wasted_bytes", wastedB);
    run.Add("wasted_early_bytes", wastedEarlyB);
    run.Add("wire_bytes", static_cast<double>(star.sentB));
    run.Add("drops_up", static_cast<double>(star.droppedUp));
    run.Add("drops_down", static_cast<double>(star.droppedDown));
    run.Add("longest_queue_packets", star.longestQueue);
    for (auto& [name, seen] : classes)
    {
        AddClass(run, name, seen);
    }
    run.Add("cpu_s", UserCpuSeconds());
    std::cout << "{\"run\": " << run.Json() << ", \"leechers\": " << Joined(leechers)
              << ", \"queues\": " << Joined(rows) << "}" << std::endl;
    Simulator::Destroy();
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        Simulate(Options(argc, argv));
    }
    catch (const std::exception& error)
    {
        Refuse(error.what());
    }
    return 0;
}
