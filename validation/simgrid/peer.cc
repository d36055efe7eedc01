// Connections, messages and uploads of a peer (4.0.2 Encoder.py, Connecter.py, Uploader.py).
#include "peer.h"

namespace
{

constexpr uint32_t TRACKER_REPLY = 50; // peers
constexpr uint32_t MAX_INITIATE = 40;  // connections that a peer opens
constexpr uint32_t MAX_PEERS = 80;     // from which on it takes no more

constexpr uint64_t HANDSHAKE_B = mainline::HEADER_B + mainline::ID_B;
constexpr uint64_t PIECE_HEADER_B = 13;

uint64_t
MessageB(Kind kind)
{
    switch (kind)
    {
    case Kind::HAVE:
        return 9;
    case Kind::REQUEST:
    case Kind::CANCEL:
        return 17;
    default:
        return 5;
    }
}

double
Now()
{
    return simgrid::s4u::Engine::get_clock();
}

} // namespace

Peer::Peer(Swarm& swarm, uint32_t number, bool isSeed, uint32_t randomSeed, double start, simgrid::s4u::Host* host)
    : m_swarm(swarm),
      m_host(host),
      m_random(randomSeed, number + 1),
      m_pieces(swarm.torrent, isSeed, m_random),
      m_start(start)
{
}

void
Peer::operator()()
{
    simgrid::s4u::this_actor::sleep_until(m_start);
    Start();
    while (true)
    {
        simgrid::s4u::this_actor::sleep_for(mainline::CHOKE_S);
        if (m_swarm.IsDone())
        {
            return;
        }
        Tick();
    }
}

/// The tracker names some of the peers that have started; nobody asks again.
void
Peer::Start()
{
    startedAt = Now();
    std::vector<Peer*> others;
    for (const auto& peer : m_swarm.peers)
    {
        if (peer.get() != this && peer->startedAt >= 0)
        {
            others.push_back(peer.get());
        }
    }
    m_random.Shuffle(others);
    others.resize(std::min<size_t>(others.size(), TRACKER_REPLY));
    for (Peer* other : others)
    {
        if (m_list.size() < MAX_INITIATE && other->m_list.size() < MAX_PEERS)
        {
            Connect(*other);
        }
    }
}

void
Peer::Connect(Peer& other)
{
    Neighbour& here = Open(other);
    Neighbour& there = other.Open(*this);
    here.mate = &there;
    there.mate = &here;
    SendBitfield(here);
    other.SendBitfield(there);
}

Neighbour&
Peer::Open(Peer& other)
{
    m_neighbours.push_back(std::make_unique<Neighbour>(*this, other, m_swarm.torrent.Pieces()));
    Neighbour& n = *m_neighbours.back();
    n.down.Start(Now());
    n.up.Start(Now());
    m_list.insert(m_list.begin() + m_random.Below(m_list.size() + 1), &n);
    return n;
}

void
Peer::Send(Neighbour& n, Kind kind, const Block& block)
{
    Neighbour* const mate = n.mate;
    const auto arrived = [mate, kind, block] { mate->owner.Handle(*mate, kind, block); };
    if (m_swarm.hasMessages)
    {
        m_swarm.network.Send(m_host, n.peer.m_host, MessageB(kind), arrived);
    }
    else
    {
        arrived();
    }
}

void
Peer::Handle(Neighbour& n, Kind kind, const Block& block)
{
    if (!n.isOpen)
    {
        return;
    }
    switch (kind)
    {
    case Kind::CHOKE:
        n.served = false;
        LetGo(n);
        break;
    case Kind::UNCHOKE:
        OnUnchoke(n);
        break;
    case Kind::INTERESTED:
    case Kind::NOT_INTERESTED:
        OnInterested(n, kind == Kind::INTERESTED);
        break;
    case Kind::HAVE:
        OnHave(n, block.piece);
        break;
    case Kind::REQUEST:
        OnRequest(n, block);
        break;
    case Kind::CANCEL:
        std::erase(n.asked, block);
        break;
    default:
        OnBlock(n, block);
        break;
    }
}

/// The handshake and all that we have, in one message.
void
Peer::SendBitfield(Neighbour& n)
{
    const uint64_t size = HANDSHAKE_B + 5 + (m_swarm.torrent.Pieces() + 7) / 8;
    m_swarm.network.Send(m_host, n.peer.m_host, size, [mate = n.mate, held = m_pieces.held] {
        mate->owner.OnBitfield(*mate, held);
    });
}

void
Peer::OnBitfield(Neighbour& n, const PieceSet& held)
{
    held.ForBoth(held, [&](uint32_t piece) { OnHave(n, piece); });
}

void
Peer::OnHave(Neighbour& n, uint32_t piece)
{
    if (!n.isOpen || n.theyHave.Has(piece))
    {
        return;
    }
    n.theyHave.Add(piece);
    ++n.theirCount;
    m_pieces.Heard(piece);
    if (m_isEndgame)
    {
        EndgameRequests(n);
    }
    else if (m_pieces.wanted.Has(piece))
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
Peer::CloseIfBothSeeds(Neighbour& n)
{
    if (n.isOpen && IsSeed() && n.theirCount == m_swarm.torrent.Pieces())
    {
        Neighbour* const mate = n.mate;
        Close(n);
        mate->owner.Close(*mate);
    }
}

void
Peer::Close(Neighbour& n)
{
    if (!n.isOpen)
    {
        return;
    }
    n.isOpen = false;
    std::erase(m_list, &n);
    const bool hadSlot = n.interestedInUs && n.unchoked;
    n.asked.clear();
    n.served = n.unchoked = false;
    LetGo(n);
    if (hadSlot)
    {
        Rechoke();
    }
}

void
Peer::OnRequest(Neighbour& n, const Block& block)
{
    if (n.told)
    {
        n.asked.push_back(block);
        Upload(n);
    }
}

/// Sends one block after another; those of several neighbours share the uplink.
void
Peer::Upload(Neighbour& n)
{
    if (n.isSending || n.asked.empty())
    {
        return;
    }
    const Block block = n.asked.front();
    n.asked.pop_front();
    const uint32_t size = m_swarm.torrent.BlockB(block);
    n.isSending = true;
    m_swarm.network.Send(m_host, n.peer.m_host, PIECE_HEADER_B + size, [this, &n, block, size] {
        uploadedB += size;
        n.up.Count(Now(), size);
        n.mate->owner.Handle(*n.mate, Kind::PIECE, block);
        n.isSending = false;
        Tell(n);
        Upload(n);
    });
}
