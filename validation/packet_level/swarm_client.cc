// Connections and messages of a client (4.0.2 Encoder.py, Connecter.py).
#include "swarm_client.h"

using namespace ns3;

Client::Client(Swarm& swarm, uint32_t number, bool isSeed, uint32_t randomSeed)
    : m_swarm(swarm),
      m_number(number),
      m_random(randomSeed, number + 1),
      m_pieces(swarm.torrent, isSeed, m_random)
{
}

/// The client starts: in place of a tracker's answer it opens connections to all that have started, in random order.
void
Client::Start()
{
    startedAt = NowSeconds();
    Simulator::Schedule(Seconds(mainline::CHOKE_S), &Client::Tick, this);
    std::vector<uint32_t> others;
    for (const auto& client : m_swarm.clients)
    {
        if (client.get() != this && client->startedAt >= 0)
        {
            others.push_back(client->m_number);
        }
    }
    m_random.Shuffle(others);
    for (uint32_t other : others)
    {
        Connect(other);
    }
}

Neighbour&
Client::To(uint32_t number)
{
    auto& neighbour = m_neighbours[number];
    if (!neighbour)
    {
        neighbour = std::make_unique<Neighbour>();
        neighbour->number = number;
        neighbour->theyHave.resize(m_swarm.torrent.Pieces());
    }
    return *neighbour;
}

void
Client::Connect(uint32_t other)
{
    Neighbour& n = To(other);
    n.isInitiator = true;
    const Ptr<TcpSocketBase> socket = m_swarm.connect(m_number, other);
    Use(n, socket);
    struct Callbacks
    {
        static void Connected(Client* client, Neighbour* n, Ptr<Socket>)
        {
            client->Send(*n, {Kind::HEADER});
        }

        static void Failed(Ptr<Socket>)
        {
            throw std::runtime_error("a connection could not be opened");
        }
    };
    socket->SetConnectCallback(MakeBoundCallback(&Callbacks::Connected, this, &n), MakeCallback(&Callbacks::Failed));
}

void
Client::Accept(Ptr<TcpSocketBase> socket, uint32_t from)
{
    Use(To(from), socket);
}

void
Client::Use(Neighbour& n, Ptr<TcpSocketBase> socket)
{
    n.wire.onBytes = [this, &n](const Bytes& bytes) { Receive(n, bytes); };
    n.wire.onFlushed = [this, &n] { Upload(n); };
    n.wire.onClosed = [this, &n] { Release(n); };
    n.wire.Use(socket, m_swarm.nagle);
}

void
Client::Send(Neighbour& n, const Message& message)
{
    const Bytes bytes = Encoded(message);
    auto packet = Create<Packet>(bytes.data(), static_cast<uint32_t>(bytes.size()));
    if (message.kind == Kind::PIECE)
    {
        packet->AddAtEnd(Create<Packet>(message.length));
    }
    n.writtenAt.push_back(NowSeconds());
    n.wire.Write(packet);
}

void
Client::Receive(Neighbour& n, const Bytes& bytes)
{
    Client& sender = *m_swarm.clients[n.number];
    auto& writtenAt = sender.To(m_number).writtenAt;
    for (const Message& message : n.decoder.Feed(bytes))
    {
        sender.delays[message.kind].Add(NowSeconds() - writtenAt.front());
        writtenAt.pop_front();
        if (n.wire.IsOpen())
        {
            Handle(n, message);
        }
    }
}

void
Client::Handle(Neighbour& n, const Message& message)
{
    const Block block = m_swarm.torrent.At(message.piece, message.begin);
    switch (message.kind)
    {
    case Kind::HEADER:
        // The one who accepts answers with all it has to say; the one who opened then tells its id.
        if (!n.isInitiator)
        {
            Send(n, {Kind::HEADER});
        }
        Send(n, {Kind::ID});
        break;
    case Kind::ID:
        OnReady(n);
        break;
    case Kind::BITFIELD:
        OnBitfield(n, message);
        break;
    case Kind::HAVE:
        OnHave(n, message.piece);
        break;
    case Kind::INTERESTED:
        OnInterested(n);
        break;
    case Kind::NOT_INTERESTED:
        OnNotInterested(n);
        break;
    case Kind::CHOKE:
        if (n.served)
        {
            n.served = false;
            LetGo(n);
        }
        break;
    case Kind::UNCHOKE:
        OnUnchoke(n);
        break;
    case Kind::REQUEST:
        OnRequest(n, block);
        break;
    case Kind::CANCEL:
        std::erase(n.asked, block);
        break;
    case Kind::PIECE:
        OnBlock(n, block);
        break;
    }
}

void
Client::OnReady(Neighbour& n)
{
    n.isReady = true;
    n.down.Start(NowSeconds());
    n.up.Start(NowSeconds());
    m_list.insert(m_list.begin() + m_random.Below(m_list.size() + 1), &n);
    if (m_pieces.HeldCount() > 0)
    {
        Message message{Kind::BITFIELD};
        message.held = m_pieces.Held();
        Send(n, message);
    }
}

void
Client::OnBitfield(Neighbour& n, const Message& message)
{
    for (uint32_t piece = 0; piece < n.theyHave.size(); ++piece)
    {
        if (message.held[piece])
        {
            n.theyHave[piece] = true;
            ++n.theirCount;
            m_pieces.Heard(piece);
        }
    }
    CloseIfBothSeeds(n);
    const bool isWanted = m_isEndgame ? !m_pieces.Missing(n.theyHave).empty() : m_pieces.IsAnyWanted(n.theyHave);
    if (n.isReady && isWanted && !n.wanting)
    {
        SayInterested(n);
    }
}

void
Client::OnHave(Neighbour& n, uint32_t piece)
{
    n.theyHave[piece] = true;
    ++n.theirCount;
    m_pieces.Heard(piece);
    if (m_isEndgame)
    {
        EndgameRequests(n);
    }
    else if (m_pieces.IsWanted(piece))
    {
        if (n.served)
        {
            const std::vector<uint32_t> only{piece};
            RequestMore(n, &only);
        }
        else if (!n.wanting)
        {
            SayInterested(n);
        }
    }
    CloseIfBothSeeds(n);
}

/// Seeds have nothing for each other.
void
Client::CloseIfBothSeeds(Neighbour& n)
{
    if (n.isReady && IsSeed() && n.theirCount == m_swarm.torrent.Pieces())
    {
        Release(n);
    }
}

/// Closes a connection, or notes that it was closed.
void
Client::Release(Neighbour& n)
{
    n.wire.Close();
    if (!n.isReady)
    {
        return;
    }
    LetGo(n);
    n.isReady = false;
    std::erase(m_list, &n);
    const bool hadSlot = n.interestedInUs && n.unchoked;
    n.wanting = n.served = n.interestedInUs = n.unchoked = false;
    n.asked.clear();
    if (hadSlot)
    {
        Rechoke();
    }
}

uint64_t
Client::Timeouts() const
{
    uint64_t sum = 0;
    for (const auto& [number, neighbour] : m_neighbours)
    {
        sum += neighbour->wire.timeouts;
    }
    return sum;
}

uint64_t
Client::Retransmitted() const
{
    uint64_t sum = 0;
    for (const auto& [number, neighbour] : m_neighbours)
    {
        sum += neighbour->wire.retransmitted;
    }
    return sum;
}
