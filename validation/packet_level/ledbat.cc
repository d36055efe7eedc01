#include "ledbat.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

using namespace ns3;

namespace
{

constexpr size_t CURRENT_FILTER = 4;      // samples
constexpr size_t BASE_HISTORY = 10;       // minutes
constexpr uint32_t MIN_CWND = 2;          // segments
constexpr uint32_t ALLOWED_INCREASE = 1;  // segments

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Rfc6817Ledbat);

TypeId
Rfc6817Ledbat::GetTypeId()
{
    static TypeId tid = TypeId("Rfc6817Ledbat")
                            .SetParent<TcpCongestionOps>()
                            .AddConstructor<Rfc6817Ledbat>()
                            .AddAttribute("Target",
                                          "Queueing delay held",
                                          TimeValue(MilliSeconds(100)),
                                          MakeTimeAccessor(&Rfc6817Ledbat::m_target),
                                          MakeTimeChecker())
                            .AddAttribute("Gain",
                                          "Segments per RTT of growth on an empty queue",
                                          DoubleValue(1),
                                          MakeDoubleAccessor(&Rfc6817Ledbat::m_gain),
                                          MakeDoubleChecker<double>(0))
                            .AddAttribute("NewEchoes",
                                          "Whether a delay counts only where the echoed time stamp is a new one",
                                          BooleanValue(false),
                                          MakeBooleanAccessor(&Rfc6817Ledbat::m_newEchoes),
                                          MakeBooleanChecker());
    return tid;
}

std::string
Rfc6817Ledbat::GetName() const
{
    return "Rfc6817Ledbat";
}

Ptr<TcpCongestionOps>
Rfc6817Ledbat::Fork()
{
    return CopyObject<Rfc6817Ledbat>(this);
}

void
Rfc6817Ledbat::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t, const Time&)
{
    if (m_newEchoes && m_lastEcho == tcb->m_rcvTimestampEchoReply)
    {
        return;
    }
    m_lastEcho = tcb->m_rcvTimestampEchoReply;
    const int64_t delay = int64_t{tcb->m_rcvTimestampValue} - tcb->m_rcvTimestampEchoReply;
    m_current.push_back(delay);
    if (m_current.size() > CURRENT_FILTER)
    {
        m_current.pop_front();
    }

    const auto minute = static_cast<int64_t>(Simulator::Now().GetMinutes());
    if (minute != m_minute)
    {
        m_minute = minute;
        m_base.push_back(delay);
        if (m_base.size() > BASE_HISTORY)
        {
            m_base.pop_front();
        }
    }
    m_base.back() = std::min(m_base.back(), delay);
}

double
Rfc6817Ledbat::QueueingDelayMs() const
{
    const int64_t current = *std::min_element(m_current.begin(), m_current.end());
    const int64_t base = *std::min_element(m_base.begin(), m_base.end());
    return static_cast<double>(current - base);
}

void
Rfc6817Ledbat::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
    if (m_current.empty())
    {
        return;
    }
    const double segment = tcb->m_segmentSize;
    const double window = tcb->m_cWnd + m_fractionB;
    // The ACK that ends a recovery may cover more than a window: still one window's growth.
    const double acked = std::min(segmentsAcked * segment, window);
    const double target = m_target.GetSeconds() * 1e3;
    const double off = (target - QueueingDelayMs()) / target;

    double next = window + m_gain * off * acked * segment / window;
    if (off > 0)
    {
        // Not beyond what was in flight before this ACK: a sender with little to send gathers no window.
        const double flight = tcb->m_bytesInFlight + segmentsAcked * segment;
        next = std::min(next, std::max(window, flight + ALLOWED_INCREASE * segment));
    }
    next = std::max(next, MIN_CWND * segment);
    tcb->m_cWnd = static_cast<uint32_t>(next);
    m_fractionB = next - std::floor(next);
}

uint32_t
Rfc6817Ledbat::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
    // ns-3 asks once per recovery, which lasts at least one RTT, and at a timeout.
    return std::max(tcb->m_cWnd.Get() / 2, MIN_CWND * tcb->m_segmentSize);
}
