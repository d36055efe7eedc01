// One end of a TCP connection as an application sees it: bytes in, bytes out, and what does not fit waits.
#pragma once

#include "common.h"
#include "swarm_messages.h"

#include <deque>
#include <functional>

class Wire
{
  public:
    std::function<void(const Bytes&)> onBytes;
    std::function<void()> onFlushed; // all that had been written is in the socket
    std::function<void()> onClosed;  // by the other side

    /// Takes over a socket that is about to be connected, or that has just been accepted.
    void Use(ns3::Ptr<ns3::TcpSocketBase> socket, bool nagle);

    /// Writes as the client does, one system call for each message; what the socket has no room for waits here.
    void Write(ns3::Ptr<ns3::Packet> packet);

    bool IsFlushed() const
    {
        return m_waiting.empty();
    }

    bool IsOpen() const
    {
        return m_socket && !m_isClosed;
    }

    /// Drops what waits and closes; data that still arrive are answered by a reset.
    void Close();

    uint64_t timeouts = 0;
    uint64_t retransmitted = 0; // segments

  private:
    void SendWaiting();
    void Read();
    void Reset();
    void OnReadable(ns3::Ptr<ns3::Socket>);
    void OnRoom(ns3::Ptr<ns3::Socket>, uint32_t);
    void OnClosed(ns3::Ptr<ns3::Socket>);
    void Drain();
    void OnTx(ns3::Ptr<const ns3::Packet> payload, const ns3::TcpHeader&, ns3::Ptr<const ns3::TcpSocketBase>);
    void OnRx(ns3::Ptr<const ns3::Packet>, const ns3::TcpHeader&, ns3::Ptr<const ns3::TcpSocketBase>);
    void OnState(ns3::TcpSocketState::TcpCongState_t, ns3::TcpSocketState::TcpCongState_t state);
    void OnRetransmission(ns3::Ptr<const ns3::Packet>,
                          const ns3::TcpHeader&,
                          const ns3::Address&,
                          const ns3::Address&,
                          ns3::Ptr<const ns3::TcpSocketBase>);

    ns3::Ptr<ns3::TcpSocketBase> m_socket;
    std::deque<ns3::Ptr<ns3::Packet>> m_waiting;
    bool m_hasNagle = true;
    bool m_isClosed = false;
    bool m_willRead = false;
    bool m_willSend = false;
    bool m_isRecovering = false; // from a loss or a timeout
    ns3::SequenceNumber32 m_smallEnd; // of the last segment sent that was not a full one
};
