#include "swarm_wire.h"

#include <limits>

using namespace ns3;

namespace
{

/// What ns-3 keeps from applications of a socket.
class Inside : public TcpSocketBase
{
  public:
    static void SendPending(TcpSocketBase& socket)
    {
        (socket.*&Inside::SendPendingData)(true);
    }

    static void Reset(TcpSocketBase& socket)
    {
        (socket.*&Inside::SendRST)();
    }

    /// Whether Nagle's algorithm holds segments that are not full while anything is not acknowledged.
    static void HoldSmall(TcpSocketBase& socket, bool hold)
    {
        socket.*&Inside::m_noDelay = !hold;
    }

    /// ns-3 notes only those acknowledgements that go without data, and echoes time stamps by what it has noted.
    static void NoteAcknowledged(TcpSocketBase& socket, SequenceNumber32 upTo)
    {
        socket.*&Inside::m_highTxAck = std::max(socket.*&Inside::m_highTxAck, upTo);
    }
};

} // namespace

void
Wire::Use(Ptr<TcpSocketBase> socket, bool nagle)
{
    m_socket = socket;
    socket->SetRecvCallback(MakeCallback(&Wire::OnReadable, this));
    socket->SetSendCallback(MakeCallback(&Wire::OnRoom, this));
    socket->SetCloseCallbacks(MakeCallback(&Wire::OnClosed, this), MakeCallback(&Wire::OnClosed, this));
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&Wire::OnState, this));
    socket->TraceConnectWithoutContext("Retransmission", MakeCallback(&Wire::OnRetransmission, this));
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&Wire::OnTx, this));
    socket->TraceConnectWithoutContext("Rx", MakeCallback(&Wire::OnRx, this));
    RetransmissionTimer::StartAtEveryAck(*socket);
    m_hasNagle = nagle;
    Inside::HoldSmall(*socket, false);
}

void
Wire::Write(Ptr<Packet> packet)
{
    m_waiting.push_back(packet);
    if (m_waiting.size() == 1)
    {
        SendWaiting();
    }
}

void
Wire::SendWaiting()
{
    while (!m_waiting.empty() && m_socket->GetTxAvailable() > 0)
    {
        Ptr<Packet>& first = m_waiting.front();
        const uint32_t size = first->GetSize();
        const uint32_t fits = std::min(size, m_socket->GetTxAvailable());
        m_socket->Send(first->CreateFragment(0, fits), 0);
        // ns-3 would wait a nanosecond and put several writes into one segment, which Linux does not.
        Inside::SendPending(*m_socket);
        if (fits < size)
        {
            first = first->CreateFragment(fits, size - fits);
            return;
        }
        m_waiting.pop_front();
    }
}

void
Wire::Close()
{
    if (m_isClosed)
    {
        return;
    }
    m_isClosed = true;
    m_waiting.clear();
    if (m_socket)
    {
        m_socket->Close();
    }
}

// The callbacks come from the middle of ns-3's handling of a segment. The application acts after it, as a process that
// is woken up: acknowledgements are sent or delayed before it answers.

void
Wire::OnReadable(Ptr<Socket>)
{
    if (!m_willRead)
    {
        m_willRead = true;
        Simulator::ScheduleNow(m_isClosed ? &Wire::Reset : &Wire::Read, this);
    }
}

void
Wire::Read()
{
    m_willRead = false;
    if (m_isClosed)
    {
        return; // Close() has sent a reset, as nobody will read this
    }
    while (Ptr<Packet> packet = m_socket->Recv(std::numeric_limits<uint32_t>::max(), 0))
    {
        Bytes bytes(packet->GetSize());
        if (bytes.empty()) // the end of the stream
        {
            return;
        }
        packet->CopyData(bytes.data(), static_cast<uint32_t>(bytes.size()));
        onBytes(bytes);
        if (m_isClosed)
        {
            return;
        }
    }
}

void
Wire::Reset()
{
    Inside::Reset(*m_socket);
}

void
Wire::OnRoom(Ptr<Socket>, uint32_t)
{
    if (!m_waiting.empty() && !m_willSend)
    {
        m_willSend = true;
        Simulator::ScheduleNow(&Wire::Drain, this);
    }
}

void
Wire::Drain()
{
    m_willSend = false;
    if (m_isClosed)
    {
        return;
    }
    SendWaiting();
    if (m_waiting.empty())
    {
        onFlushed();
    }
}

void
Wire::OnClosed(Ptr<Socket>)
{
    if (!m_isClosed)
    {
        Simulator::ScheduleNow([this] { onClosed(); });
    }
}

// Nagle's algorithm as in Linux (Minshall's variant, tcp_minshall_check): a segment that is not full waits only while
// an earlier one that was not full has not been acknowledged. That of ns-3 waits for full ones too.

void
Wire::OnTx(Ptr<const Packet> payload, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    Inside::NoteAcknowledged(*m_socket, header.GetAckNumber());
    const uint32_t size = payload->GetSize();
    if (m_hasNagle && size > 0 && size < SEGMENT_B)
    {
        m_smallEnd = header.GetSequenceNumber() + SequenceNumber32(size);
        Inside::HoldSmall(*m_socket, !m_isRecovering);
    }
}

void
Wire::OnRx(Ptr<const Packet>, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    if (header.GetAckNumber() >= m_smallEnd)
    {
        Inside::HoldSmall(*m_socket, false);
    }
}

void
Wire::OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
    if (state == TcpSocketState::CA_RECOVERY) // the retransmission follows at once
    {
        RetransmissionTimer::Stop(*m_socket);
    }
    timeouts += state == TcpSocketState::CA_LOSS;
    m_isRecovering = state == TcpSocketState::CA_RECOVERY || state == TcpSocketState::CA_LOSS;
    if (m_isRecovering)
    {
        Inside::HoldSmall(*m_socket, false);
    }
}

void
Wire::OnRetransmission(Ptr<const Packet>,
                       const TcpHeader&,
                       const Address&,
                       const Address&,
                       Ptr<const TcpSocketBase>)
{
    ++retransmitted;
}
