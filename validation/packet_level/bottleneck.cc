// Flows of several congestion controls, with a probe or a call beside them, over one bottleneck.

#include "common.h"

#include "ns3/traffic-control-module.h"

#include <cstring>
#include <memory>

using namespace ns3;

namespace
{

constexpr double SAMPLE_S = 0.01;       // between two looks at the queue and at every flow's RTT
constexpr uint32_t BIG_BUFFER = 100000; // packets, where nothing is to be lost
const DataRate ACCESS_RATE("100Mbps");

struct Options
{
    std::string flows = "cubic:1";
    double rate = 1e6;
    double returnRate = 0; // 0: 8 times the rate
    double rttMs = 50;
    std::string queue = "droptail";
    uint32_t buffer = 50;
    uint32_t returnBuffer = BIG_BUFFER;
    std::string probe;
    bool voip = false;
    double noise = 0;
    double duration = 300;
    double warmup = 60;
    uint32_t seed = 1;

    Options(int argc, char* argv[])
    {
        CommandLine line;
        line.AddValue("flows", "congestion controls and how many of each, as in cubic:1,ledbat:2", flows);
        line.AddValue("rate", "of the bottleneck, bit/s", rate);
        line.AddValue("return-rate", "of the way back, bit/s; 0: 8 times the rate", returnRate);
        line.AddValue("rtt", "propagation both ways without the access links', ms", rttMs);
        line.AddValue("queue", "droptail, codel, fq_codel or pie", queue);
        line.AddValue("buffer", "packets waiting at the bottleneck at most", buffer);
        line.AddValue("return-buffer", "packets waiting on the way back at most", returnBuffer);
        line.AddValue("probe", "bytes of a message and seconds between two, as in 100@1", probe);
        line.AddValue("voip", "a G.729 call towards the receivers", voip);
        line.AddValue("noise", "part of the rate that short packets at random times take", noise);
        line.AddValue("duration", "of the run, s", duration);
        line.AddValue("warmup", "at its start, not counted, s", warmup);
        line.AddValue("seed", "of the access delays and starts", seed);
        line.Parse(argc, argv);
        if (duration <= warmup)
        {
            Refuse("the run must be longer than its warm-up");
        }
        returnRate = returnRate > 0 ? returnRate : 8 * rate;
    }
};

DataRateValue
BitsPerSecond(double rate)
{
    return DataRateValue(DataRate(static_cast<uint64_t>(rate)));
}

/// Two routers, the slow link between them, and behind the first one a host for each flow.
///
/// All receivers are on the second router: links of their own would add nothing but a delay.
class Dumbbell
{
  public:
    explicit Dumbbell(const Options& options)
        : m_random(CreateObject<UniformRandomVariable>())
    {
        InternetStackHelper().Install(m_routers);
        m_accessLink.DisableFlowControl(); // no queue but the devices'
        m_accessLink.SetDeviceAttribute("DataRate", DataRateValue(ACCESS_RATE));
        m_accessLink.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(Packets(BIG_BUFFER)));

        const bool dropTail = options.queue == "droptail";
        PointToPointHelper link;
        if (dropTail)
        {
            link.DisableFlowControl();
        }
        link.SetChannelAttribute("Delay", TimeValue(Seconds(options.rttMs / 2e3)));
        const NetDeviceContainer devices = link.Install(m_routers);
        const auto out = devices.Get(0)->GetObject<PointToPointNetDevice>();
        const auto back = devices.Get(1)->GetObject<PointToPointNetDevice>();
        out->SetAttribute("DataRate", BitsPerSecond(options.rate));
        back->SetAttribute("DataRate", BitsPerSecond(options.returnRate));
        // An AQM decides only on what waits in it, so the device behind it holds as little as ns-3 permits.
        m_deviceQueue = out->GetQueue();
        m_deviceQueue->SetMaxSize(Packets(dropTail ? options.buffer : 1));
        back->GetQueue()->SetMaxSize(Packets(options.returnBuffer));
        if (!dropTail)
        {
            InstallAqm(options, out);
        }
        m_addresses.SetBase("10.0.0.0", "255.255.255.0");
        m_receivers = m_addresses.Assign(devices).GetAddress(1);
        if (!dropTail)
        {
            TrafficControlHelper().Uninstall(back); // the address helper puts a FqCoDel there
        }
        m_deviceQueue->TraceConnectWithoutContext("Drop", MakeCallback(&Dumbbell::OnDrop, this));
        out->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Dumbbell::OnSent, this));
    }

    /// A new host with an access delay of its own, 0-1 ms each way.
    Ptr<Node> NewHost()
    {
        const auto host = CreateObject<Node>();
        InternetStackHelper().Install(host);
        m_accessLink.SetChannelAttribute("Delay", TimeValue(Seconds(m_random->GetValue(0, 1e-3))));
        m_addresses.NewNetwork();
        m_addresses.Assign(m_accessLink.Install(host, m_routers.Get(0)));
        return host;
    }

    double RandomUpTo(double limit)
    {
        return m_random->GetValue(0, limit);
    }

    Ptr<Node> ReceivingNode() const
    {
        return m_routers.Get(1);
    }

    Ipv4Address ReceivingAddress() const
    {
        return m_receivers;
    }

    /// Waiting packets; the one being transmitted is not among them.
    uint32_t QueuedPackets() const
    {
        return m_deviceQueue->GetNPackets() + (m_aqm ? m_aqm->GetNPackets() : 0);
    }

    uint32_t QueuedBytes() const
    {
        return m_deviceQueue->GetNBytes() + (m_aqm ? m_aqm->GetNBytes() : 0);
    }

    uint64_t sentB = 0; // over the bottleneck, with all headers
    uint64_t sentPackets = 0;
    uint64_t droppedPackets = 0;

  private:
    static QueueSize Packets(uint32_t count)
    {
        return QueueSize(QueueSizeUnit::PACKETS, count);
    }

    void InstallAqm(const Options& options, Ptr<NetDevice> device)
    {
        static const std::map<std::string, std::string> KNOWN = {{"codel", "ns3::CoDelQueueDisc"},
                                                                 {"fq_codel", "ns3::FqCoDelQueueDisc"},
                                                                 {"pie", "ns3::PieQueueDisc"}};
        const auto found = KNOWN.find(options.queue);
        if (found == KNOWN.end())
        {
            Refuse("no queue is called " + options.queue);
        }
        TrafficControlHelper control;
        control.SetRootQueueDisc(found->second, "MaxSize", QueueSizeValue(Packets(options.buffer)));
        m_aqm = control.Install(device).Get(0);
        m_aqm->TraceConnectWithoutContext("Drop", MakeCallback(&Dumbbell::OnAqmDrop, this));
    }

    void OnSent(Ptr<const Packet> packet)
    {
        sentB += packet->GetSize();
        ++sentPackets;
    }

    void OnDrop(Ptr<const Packet>)
    {
        ++droppedPackets;
    }

    void OnAqmDrop(Ptr<const QueueDiscItem>)
    {
        ++droppedPackets;
    }

    NodeContainer m_routers{2};
    PointToPointHelper m_accessLink;
    Ipv4AddressHelper m_addresses;
    Ipv4Address m_receivers;
    Ptr<UniformRandomVariable> m_random;
    Ptr<Queue<Packet>> m_deviceQueue;
    Ptr<QueueDisc> m_aqm;
};

/// A TCP connection with a short message now and then; notes how long each takes to be delivered.
class MessageProbe : public Connection
{
  public:
    MessageProbe(Dumbbell& net, uint16_t port, const std::string& what, double countFrom)
        : Connection(net.NewHost(), net.ReceivingNode(), net.ReceivingAddress(), port, CongestionControl("cubic")),
          m_countFrom(countFrom)
    {
        const size_t at = what.find('@');
        if (at == std::string::npos)
        {
            Refuse("a probe is given as bytes@seconds, not as " + what);
        }
        m_bytes = std::stoul(what.substr(0, at));
        m_period = Seconds(std::stod(what.substr(at + 1)));
        m_sender->SetAttribute("TcpNoDelay", BooleanValue(true));
        Simulator::Schedule(Seconds(net.RandomUpTo(1)), &MessageProbe::Open, this);
        // At least a period later than the connection, so that the first message does not wait for it.
        Simulator::Schedule(Seconds(net.RandomUpTo(m_period.GetSeconds())) + 2 * m_period, &MessageProbe::Write, this);
    }

    Samples delays; // s, from the write to the delivery of the last byte, one way

  private:
    void Write()
    {
        m_writtenAt.push_back(NowSeconds());
        m_sender->Send(Create<Packet>(m_bytes), 0);
        Simulator::Schedule(m_period, &MessageProbe::Write, this);
    }

    void OnDelivery() override
    {
        for (; (m_delivered + 1) * m_bytes <= counts.deliveredB; ++m_delivered)
        {
            if (m_writtenAt[m_delivered] >= m_countFrom)
            {
                delays.Add(NowSeconds() - m_writtenAt[m_delivered]);
            }
        }
    }

    double m_countFrom;
    uint32_t m_bytes;
    Time m_period;
    std::vector<double> m_writtenAt; // s, by message
    size_t m_delivered = 0;          // messages
};

/// One direction of a G.729 call: RTP packets with 20 bytes of speech every 20 ms.
class Call
{
  public:
    Call(Dumbbell& net, uint16_t port, double countFrom, double countTo)
        : m_countFrom(countFrom),
          m_countTo(countTo)
    {
        const TypeId udp = UdpSocketFactory::GetTypeId();
        m_receiver = Socket::CreateSocket(net.ReceivingNode(), udp);
        m_receiver->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        m_receiver->SetRecvCallback(MakeCallback(&Call::Receive, this));
        m_sender = Socket::CreateSocket(net.NewHost(), udp);
        m_sender->Connect(InetSocketAddress(net.ReceivingAddress(), port));
        Simulator::Schedule(Seconds(net.RandomUpTo(1)), &Call::SendOne, this);
    }

    Samples delays;  // s, one way
    Samples jitters; // s: RFC 3550's running estimate at every packet
    uint64_t sent = 0;

  private:
    static constexpr uint32_t PAYLOAD_B = 12 + 20; // RTP's header and two frames of 10 ms
    static constexpr double PERIOD_S = 0.02;

    struct Stamp
    {
        double sentAt; // s
    };

    void SendOne()
    {
        uint8_t payload[PAYLOAD_B] = {};
        const Stamp stamp{NowSeconds()};
        std::memcpy(payload, &stamp, sizeof stamp);
        sent += IsCounted(stamp);
        m_sender->Send(Create<Packet>(payload, PAYLOAD_B));
        Simulator::Schedule(Seconds(PERIOD_S), &Call::SendOne, this);
    }

    void Receive(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            Stamp stamp;
            packet->CopyData(reinterpret_cast<uint8_t*>(&stamp), sizeof stamp);
            const double delay = NowSeconds() - stamp.sentAt;
            m_jitter += m_lastDelay < 0 ? 0 : (std::abs(delay - m_lastDelay) - m_jitter) / 16;
            m_lastDelay = delay;
            if (IsCounted(stamp))
            {
                delays.Add(delay);
                jitters.Add(m_jitter);
            }
        }
    }

    bool IsCounted(const Stamp& stamp) const
    {
        return stamp.sentAt >= m_countFrom && stamp.sentAt < m_countTo;
    }

    double m_countFrom;
    double m_countTo;
    double m_jitter = 0;
    double m_lastDelay = -1;
    Ptr<Socket> m_receiver;
    Ptr<Socket> m_sender;
};

/// Short UDP packets at random times (Poisson): they break the phase that ACK-clocked flows fall into at a full queue.
class Noise
{
  public:
    Noise(Dumbbell& net, uint16_t port, double rate)
        : m_gap(CreateObject<ExponentialRandomVariable>())
    {
        const TypeId udp = UdpSocketFactory::GetTypeId();
        m_receiver = Socket::CreateSocket(net.ReceivingNode(), udp);
        m_receiver->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        m_receiver->SetRecvCallback(MakeCallback(&Noise::Receive, this));
        m_sender = Socket::CreateSocket(net.NewHost(), udp);
        m_sender->Connect(InetSocketAddress(net.ReceivingAddress(), port));
        m_gap->SetAttribute("Mean", DoubleValue(8 * WIRE_B / rate));
        Simulator::Schedule(Seconds(m_gap->GetValue()), &Noise::SendOne, this);
    }

  private:
    static constexpr uint32_t PAYLOAD_B = 100;
    static constexpr double WIRE_B = PAYLOAD_B + 8 + 20 + 2; // UDP, IPv4, PPP

    void SendOne()
    {
        m_sender->Send(Create<Packet>(PAYLOAD_B));
        Simulator::Schedule(Seconds(m_gap->GetValue()), &Noise::SendOne, this);
    }

    void Receive(Ptr<Socket> socket)
    {
        while (socket->Recv())
        {
        }
    }

    Ptr<ExponentialRandomVariable> m_gap; // s
    Ptr<Socket> m_receiver;
    Ptr<Socket> m_sender;
};

/// A flow of the list with what has been seen of it.
struct ListedFlow
{
    std::string cc;
    std::unique_ptr<BulkFlow> flow;
    Counts before; // the warm-up
    Samples rtts;  // s
};

std::vector<ListedFlow>
CreateFlows(Dumbbell& net, const std::string& list)
{
    std::vector<ListedFlow> flows;
    std::istringstream items(list);
    for (std::string item; std::getline(items, item, ',');)
    {
        const size_t colon = item.find(':');
        const CongestionControl control(item.substr(0, colon));
        const unsigned long count = colon == std::string::npos ? 1 : std::stoul(item.substr(colon + 1));
        for (unsigned long i = 0; i < count; ++i)
        {
            const auto port = static_cast<uint16_t>(PORT + flows.size());
            auto flow = std::make_unique<BulkFlow>(net.NewHost(),
                                                   net.ReceivingNode(),
                                                   net.ReceivingAddress(),
                                                   port,
                                                   control);
            Simulator::Schedule(Seconds(net.RandomUpTo(1)), &BulkFlow::Open, flow.get());
            flows.push_back({control.name, std::move(flow), {}, {}});
        }
    }
    return flows;
}

/// Looks at the queue and the RTTs every 10 ms once the warm-up is over.
class Sampler
{
  public:
    Sampler(const Dumbbell& net, std::vector<ListedFlow>& flows)
        : m_net(net),
          m_flows(flows)
    {
    }

    void Look()
    {
        packets.Add(m_net.QueuedPackets());
        bytes.Add(m_net.QueuedBytes());
        for (ListedFlow& listed : m_flows)
        {
            if (!std::isnan(listed.flow->lastRtt))
            {
                listed.rtts.Add(listed.flow->lastRtt);
            }
        }
        Simulator::Schedule(Seconds(SAMPLE_S), &Sampler::Look, this);
    }

    Samples packets;
    Samples bytes;

  private:
    const Dumbbell& m_net;
    std::vector<ListedFlow>& m_flows;
};

/// Adds mean and percentiles of delays in s, under a name and in ms.
void
AddDelays(Row& row, const std::string& name, Samples& delays, const std::vector<int>& percents)
{
    row.Add(name + "_mean_ms", 1e3 * delays.Mean());
    for (int percent : percents)
    {
        row.Add(name + "_p" + std::to_string(percent) + "_ms", 1e3 * delays.Percentile(percent));
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    const Options options(argc, argv);
    RngSeedManager::SetRun(options.seed);
    UseHostDefaults();

    Dumbbell net(options);
    std::vector<ListedFlow> flows = CreateFlows(net, options.flows);
    const auto nextPort = static_cast<uint16_t>(PORT + flows.size());
    std::unique_ptr<MessageProbe> probe;
    if (!options.probe.empty())
    {
        probe = std::make_unique<MessageProbe>(net, nextPort, options.probe, options.warmup);
    }
    std::unique_ptr<Call> call;
    if (options.voip)
    {
        // What is sent in the last seconds may still be under way at the end: it counts neither as sent nor as lost.
        call = std::make_unique<Call>(net, nextPort, options.warmup, options.duration - 5);
    }
    std::unique_ptr<Noise> noise;
    if (options.noise > 0)
    {
        noise = std::make_unique<Noise>(net, static_cast<uint16_t>(nextPort + 1), options.noise * options.rate);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Stop(Seconds(options.warmup));
    Simulator::Run();
    for (ListedFlow& listed : flows)
    {
        listed.before = listed.flow->counts;
    }
    const uint64_t sentBefore = net.sentB;
    const uint64_t packetsBefore = net.sentPackets;
    const uint64_t droppedBefore = net.droppedPackets;
    Sampler sampler(net, flows);
    sampler.Look();
    const double counted = options.duration - options.warmup;
    Simulator::Stop(Seconds(counted));
    Simulator::Run();

    Row run;
    const auto dropped = static_cast<double>(net.droppedPackets - droppedBefore);
    const auto sent = static_cast<double>(net.sentPackets - packetsBefore);
    run.Add("utilisation", 8 * static_cast<double>(net.sentB - sentBefore) / (options.rate * counted));
    run.Add("drop_fraction", dropped / (dropped + sent));
    run.Add("queue_mean_packets", sampler.packets.Mean());
    for (int percent : {10, 25, 50, 75, 90, 95, 99})
    {
        run.Add("queue_p" + std::to_string(percent) + "_packets", sampler.packets.Percentile(percent));
    }
    run.Add("queue_mean_ms", 8e3 * sampler.bytes.Mean() / options.rate);
    if (probe)
    {
        run.Add("probe_messages", static_cast<double>(probe->delays.Count()));
        AddDelays(run, "probe", probe->delays, {50, 95, 99});
    }
    if (call)
    {
        run.Add("voip_loss_fraction", 1 - static_cast<double>(call->delays.Count()) / static_cast<double>(call->sent));
        AddDelays(run, "voip", call->delays, {50, 95});
        run.Add("voip_jitter_mean_ms", 1e3 * call->jitters.Mean());
    }

    double total = 0;
    for (const ListedFlow& listed : flows)
    {
        total += static_cast<double>(listed.flow->counts.Since(listed.before).deliveredB);
    }
    run.Add("goodput_bps", 8 * total / counted);
    run.Add("cpu_s", UserCpuSeconds());

    std::string rows;
    for (ListedFlow& listed : flows)
    {
        const Counts counts = listed.flow->counts.Since(listed.before);
        Row row;
        row.Add("cc", listed.cc);
        row.Add("goodput_bps", 8 * static_cast<double>(counts.deliveredB) / counted);
        row.Add("share", static_cast<double>(counts.deliveredB) / total);
        row.Add("retransmitted_fraction",
                static_cast<double>(counts.retransmitted) / static_cast<double>(counts.segments));
        row.Add("timeouts", static_cast<double>(counts.timeouts));
        row.Add("recoveries", static_cast<double>(counts.recoveries));
        AddDelays(row, "rtt", listed.rtts, {50, 95});
        rows += (rows.empty() ? "" : ", ") + row.Json();
    }
    std::cout << "{\"run\": " << run.Json() << ", \"flows\": [" << rows << "]}" << std::endl;
    Simulator::Destroy();
    return 0;
}
