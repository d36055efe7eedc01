// What the programs share: the settings of a TCP host, one bulk flow with its counters, and rows of results.
#pragma once

#include "ledbat.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/tcp-socket-base.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

constexpr uint32_t SEGMENT_B = 1448;            // Ethernet's 1500 B less IPv4, TCP and the time stamps
constexpr uint32_t SOCKET_BUFFER_B = 8u << 20;  // more than any window here: never the limit
constexpr uint16_t PORT = 5001;                 // of the first flow; the next flow has the next one

/// One row of a table, printed as a JSON object.
class Row
{
  public:
    void Add(const std::string& name, double value)
    {
        std::ostringstream text;
        text.precision(10);
        text << value;
        AddRaw(name, std::isfinite(value) ? text.str() : "null");
    }

    void Add(const std::string& name, const std::string& value)
    {
        AddRaw(name, '"' + value + '"');
    }

    std::string Json() const
    {
        return "{" + m_text + "}";
    }

  private:
    void AddRaw(const std::string& name, const std::string& value)
    {
        m_text += (m_text.empty() ? "\"" : ", \"") + name + "\": " + value;
    }

    std::string m_text;
};

/// Samples kept whole: no run takes more than some 10000 of a kind.
class Samples
{
  public:
    void Add(double value)
    {
        m_values.push_back(value);
    }

    void Add(const Samples& others)
    {
        m_values.insert(m_values.end(), others.m_values.begin(), others.m_values.end());
    }

    size_t Count() const
    {
        return m_values.size();
    }

    double Mean() const
    {
        double sum = 0;
        for (double value : m_values)
        {
            sum += value;
        }
        return sum / static_cast<double>(m_values.size()); // NaN, printed as null, where there are none
    }

    /// The smallest sample that at least this percentage of the samples do not exceed.
    double Percentile(double percent)
    {
        if (m_values.empty())
        {
            return std::nan("");
        }
        std::sort(m_values.begin(), m_values.end());
        const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(m_values.size())));
        return m_values[std::max<size_t>(rank, 1) - 1];
    }

    double FractionOver(double threshold) const
    {
        const auto isOver = [threshold](double value) { return value > threshold; };
        return static_cast<double>(std::count_if(m_values.begin(), m_values.end(), isOver)) /
               static_cast<double>(m_values.size());
    }

  private:
    std::vector<double> m_values;
};

/// Ends the program for something wrong on its command line.
[[noreturn]] inline void
Refuse(const std::string& message)
{
    std::cerr << message << std::endl;
    std::exit(2);
}

inline double
UserCpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

inline double
NowSeconds()
{
    return ns3::Simulator::Now().GetSeconds();
}

/// A host that behaves like Linux as far as ns-3's attributes go; settings.toml has the reasons.
inline void
UseHostDefaults()
{
    using namespace ns3;
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_B));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(SOCKET_BUFFER_B));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(SOCKET_BUFFER_B));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
}

/// A congestion control by its name on the command line: newreno, ..., ledbat (target 100 ms), ledbat25 (25 ms).
struct CongestionControl
{
    explicit CongestionControl(const std::string& called)
        : name(called),
          isLedbat(called.rfind("ledbat", 0) == 0)
    {
        static const std::map<std::string, std::string> KNOWN = {{"newreno", "ns3::TcpNewReno"},
                                                                 {"linuxreno", "ns3::TcpLinuxReno"},
                                                                 {"cubic", "ns3::TcpCubic"},
                                                                 {"vegas", "ns3::TcpVegas"},
                                                                 {"lp", "ns3::TcpLp"}};
        if (isLedbat)
        {
            type = Rfc6817Ledbat::GetTypeId();
            const std::string target = called.substr(6);
            targetMs = target.empty() ? 100 : std::stoul(target);
            return;
        }
        const auto found = KNOWN.find(called);
        if (found == KNOWN.end())
        {
            Refuse("no congestion control is called " + called);
        }
        type = ns3::TypeId::LookupByName(found->second);
    }

    std::string name;
    ns3::TypeId type;
    bool isLedbat;
    unsigned long targetMs = 0;
};

/// The retransmission timer as in Linux and RFC 6298 (5.3): every ACK of new data starts it anew, and so does a fast
/// retransmission.
///
/// ns-3 lets it run on when it sends a fast retransmission, whose ACK then comes too late wherever an RTT and the wait
/// for three duplicate ACKs are more than the timeout: at an RTT of 1 s most recoveries. In a recovery it starts it
/// anew for the first partial ACK alone (RFC 6582's impatient variant): one that repairs a whole window ends in a
/// timeout. The tables of 3.44 were made with that variant.
class RetransmissionTimer : public ns3::TcpSocketBase
{
  public:
    /// Stops it, so that the next segment sent starts it.
    static void Stop(ns3::TcpSocketBase& socket)
    {
        (socket.*&RetransmissionTimer::m_retxEvent).Cancel();
    }

    /// Has every partial ACK start it anew.
    static void StartAtEveryAck(ns3::TcpSocketBase& socket)
    {
#ifndef NS3_3_44
        socket.GetTxBuffer()->TraceConnectWithoutContext("UnackSequence",
                                                         ns3::MakeBoundCallback(&ForgetTheFirst, &socket));
#endif
    }

  private:
    static void ForgetTheFirst(ns3::TcpSocketBase* socket, ns3::SequenceNumber32, ns3::SequenceNumber32)
    {
        socket->*&RetransmissionTimer::m_isFirstPartialAck = true;
    }
};

/// What a connection has done since it was opened.
struct Counts
{
    uint64_t segments = 0;      // data segments sent, retransmissions included
    uint64_t retransmitted = 0; // data segments sent again
    uint64_t timeouts = 0;
    uint64_t recoveries = 0; // fast recoveries begun
    uint64_t deliveredB = 0; // to the receiving application, in order

    Counts Since(const Counts& before) const
    {
        return {segments - before.segments,
                retransmitted - before.retransmitted,
                timeouts - before.timeouts,
                recoveries - before.recoveries,
                deliveredB - before.deliveredB};
    }
};

/// A TCP connection of one congestion control from one host to another.
class Connection
{
  public:
    Connection(ns3::Ptr<ns3::Node> from,
               ns3::Ptr<ns3::Node> to,
               ns3::Ipv4Address address,
               uint16_t port,
               const CongestionControl& control)
        : m_peer(address, port)
    {
        using namespace ns3;
        const TypeId tcp = TcpSocketFactory::GetTypeId();
        m_listener = Socket::CreateSocket(to, tcp);
        from->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(control.type));
        m_sender = DynamicCast<TcpSocketBase>(Socket::CreateSocket(from, tcp));
        if (control.isLedbat)
        {
            // uTP acknowledges almost every packet; a delayed ACK's wait would be taken for queueing.
            m_listener->SetAttribute("DelAckCount", UintegerValue(1));
            m_sender->SetAttribute("InitialCwnd", UintegerValue(2));
            PointerValue operations;
            m_sender->GetAttribute("CongestionOps", operations);
            operations.Get<TcpCongestionOps>()->SetAttribute("Target", TimeValue(MilliSeconds(control.targetMs)));
        }
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        m_listener->Listen();
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeCallback(&Connection::Accept, this));
        m_sender->TraceConnectWithoutContext("Tx", MakeCallback(&Connection::OnTx, this));
        m_sender->TraceConnectWithoutContext("Retransmission", MakeCallback(&Connection::OnRetransmission, this));
        m_sender->TraceConnectWithoutContext("CongState", MakeCallback(&Connection::OnState, this));
        m_sender->TraceConnectWithoutContext("LastRTT", MakeCallback(&Connection::OnRtt, this));
        RetransmissionTimer::StartAtEveryAck(*m_sender);
    }

    virtual ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void Open()
    {
        m_sender->Connect(m_peer);
    }

    Counts counts;
    double firstDataAt = -1;    // s, when the first data segment left the sender
    double lastRtt = std::nan(""); // s, of the last segment acknowledged, in steps of the time stamps' 1 ms

  protected:
    virtual void OnDelivery()
    {
    }

    virtual void OnFirstData()
    {
    }

    ns3::Ptr<ns3::TcpSocketBase> m_sender;

  private:
    void Accept(ns3::Ptr<ns3::Socket> socket, const ns3::Address&)
    {
        socket->SetRecvCallback(ns3::MakeCallback(&Connection::Receive, this));
    }

    void Receive(ns3::Ptr<ns3::Socket> socket)
    {
        while (ns3::Ptr<ns3::Packet> packet = socket->Recv())
        {
            counts.deliveredB += packet->GetSize();
        }
        OnDelivery();
    }

    void OnTx(ns3::Ptr<const ns3::Packet> payload, const ns3::TcpHeader&, ns3::Ptr<const ns3::TcpSocketBase>)
    {
        if (payload->GetSize() == 0)
        {
            return;
        }
        ++counts.segments;
        if (firstDataAt < 0)
        {
            firstDataAt = NowSeconds();
            OnFirstData();
        }
    }

    void OnRetransmission(ns3::Ptr<const ns3::Packet>,
                          const ns3::TcpHeader&,
                          const ns3::Address&,
                          const ns3::Address&,
                          ns3::Ptr<const ns3::TcpSocketBase>)
    {
        ++counts.retransmitted;
    }

    void OnState(ns3::TcpSocketState::TcpCongState_t, ns3::TcpSocketState::TcpCongState_t state)
    {
        if (state == ns3::TcpSocketState::CA_RECOVERY) // the retransmission follows at once
        {
            RetransmissionTimer::Stop(*m_sender);
        }
        counts.timeouts += state == ns3::TcpSocketState::CA_LOSS;
        counts.recoveries += state == ns3::TcpSocketState::CA_RECOVERY;
    }

    void OnRtt(ns3::Time, ns3::Time rtt)
    {
        lastRtt = rtt.GetSeconds();
    }

    ns3::InetSocketAddress m_peer;
    ns3::Ptr<ns3::Socket> m_listener;
};

/// A connection that always has data to send.
class BulkFlow : public Connection
{
  public:
    BulkFlow(ns3::Ptr<ns3::Node> from,
             ns3::Ptr<ns3::Node> to,
             ns3::Ipv4Address address,
             uint16_t port,
             const CongestionControl& control)
        : Connection(from, to, address, port, control)
    {
        m_sender->SetSendCallback(ns3::MakeCallback(&BulkFlow::Fill, this));
    }

  private:
    void Fill(ns3::Ptr<ns3::Socket> socket, uint32_t)
    {
        while (socket->GetTxAvailable() >= SEGMENT_B)
        {
            socket->Send(ns3::Create<ns3::Packet>(SEGMENT_B));
        }
    }
};
