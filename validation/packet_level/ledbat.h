// LEDBAT after RFC 6817: ns-3's own class does not grow its window before 3.47, and takes every echo for a new one.
#pragma once

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-state.h"

#include <deque>

/// Holds the one-way queueing delay that it adds at a target.
///
/// The one-way delay is the receiver's time stamp less the one that it echoes, in steps of 1 ms; both hosts read the
/// clock of the simulation. Delayed ACKs must be off (see Connection), or the wait for a second segment is in it. Where
/// both ends send data, those of the other end echo the same time stamp again and again while nothing of ours comes in,
/// and the time since it came is in the difference: there `NewEchoes` must be on.
class Rfc6817Ledbat : public ns3::TcpCongestionOps
{
  public:
    static ns3::TypeId GetTypeId();

    std::string GetName() const override;
    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked, const ns3::Time& rtt) override;
    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t bytesInFlight) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

  private:
    double QueueingDelayMs() const;

    ns3::Time m_target;
    double m_gain;
    bool m_newEchoes;
    uint32_t m_lastEcho = 0;
    std::deque<int64_t> m_current; // ms: the last samples, whose minimum is the current delay
    std::deque<int64_t> m_base;    // ms: the minima of the last minutes, whose minimum is the base delay
    int64_t m_minute = -1;         // which minute of the simulation the last of m_base is of
    double m_fractionB = 0;        // of the window, which ns-3 keeps in whole bytes
};
