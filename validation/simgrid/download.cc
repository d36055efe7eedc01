// What to ask of whom (4.0.2 Downloader.py).
#include "peer.h"

using namespace mainline;

/// How many requests are kept outstanding at least: 2 and 4 s of data, growing more slowly above 50.
uint32_t
Peer::Backlog(Neighbour& n)
{
    const double rate = n.down.Count(simgrid::s4u::Engine::get_clock());
    const uint32_t backlog = PIPELINE_FLOOR + static_cast<uint32_t>(PIPELINE_S * rate / m_swarm.torrent.blockB);
    return backlog <= PIPELINE_CAP ? backlog
                                   : std::max(PIPELINE_CAP, static_cast<uint32_t>(PIPELINE_CAP_SLOPE * backlog));
}

void
Peer::SayInterested(Neighbour& n)
{
    n.wanting = true;
    Send(n, Kind::INTERESTED);
}

void
Peer::SayNotInterested(Neighbour& n)
{
    n.wanting = false;
    Send(n, Kind::NOT_INTERESTED);
}

void
Peer::Ask(Neighbour& n, const Block& block)
{
    n.outstanding.push_back(block);
    Send(n, Kind::REQUEST, block);
}

/// Refills the pipeline, where pieces are given only from those.
void
Peer::RequestMore(Neighbour& n, const std::vector<uint32_t>* among)
{
    const uint32_t backlog = Backlog(n);
    if (n.outstanding.size() >= backlog)
    {
        return;
    }
    if (m_isEndgame)
    {
        EndgameRequests(n);
        return;
    }
    const uint32_t refill = PIPELINE_REFILL * (backlog - PIPELINE_FLOOR) + PIPELINE_FLOOR;
    const bool theyAreSeed = n.theirCount == m_swarm.torrent.Pieces();
    bool usedUp = false; // some piece is fully requested now
    while (n.outstanding.size() < backlog)
    {
        const auto piece = among ? FirstWanted(n, *among) : m_pieces.Next(n.theyHave, theyAreSeed);
        if (!piece)
        {
            break;
        }
        if (!n.wanting)
        {
            SayInterested(n);
        }
        m_pieces.Begin(*piece, theyAreSeed);
        while (n.outstanding.size() < refill && m_pieces.wanted.Has(*piece))
        {
            Ask(n, m_pieces.Take(*piece));
        }
        usedUp |= !m_pieces.wanted.Has(*piece);
    }
    m_isEndgame = m_pieces.IsAllRequested();
    if (n.outstanding.empty() && n.wanting)
    {
        SayNotInterested(n);
    }
    if (usedUp)
    {
        LoseInterest();
    }
    if (m_isEndgame)
    {
        EndgameEverywhere();
    }
}

std::optional<uint32_t>
Peer::FirstWanted(const Neighbour& n, const std::vector<uint32_t>& among) const
{
    for (uint32_t piece : among)
    {
        if (n.theyHave.Has(piece) && m_pieces.wanted.Has(piece))
        {
            return piece;
        }
    }
    return std::nullopt;
}

/// Neighbours with nothing outstanding and nothing else to ask for lose our interest.
void
Peer::LoseInterest()
{
    for (Neighbour* n : m_list)
    {
        if (n->wanting && n->outstanding.empty() && !m_pieces.wanted.Meets(n->theyHave))
        {
            SayNotInterested(*n);
        }
    }
}

/// Choked or closed: what was outstanding is offered to the others (not in the endgame, where they ask for it anyway).
void
Peer::LetGo(Neighbour& n)
{
    std::vector<uint32_t> lost;
    for (const Block& block : n.outstanding)
    {
        if (m_isEndgame)
        {
            break;
        }
        m_pieces.GiveBack(block);
        if (lost.empty() || lost.back() != block.piece)
        {
            lost.push_back(block.piece);
        }
    }
    n.outstanding.clear();
    if (lost.empty())
    {
        return;
    }
    std::vector<Neighbour*> serving;
    for (Neighbour* other : m_list)
    {
        if (other->served && FirstWanted(*other, lost))
        {
            serving.push_back(other);
        }
    }
    m_random.Shuffle(serving);
    for (Neighbour* other : serving)
    {
        if (FirstWanted(*other, lost))
        {
            RequestMore(*other, &lost);
        }
    }
    // What is left may make those interesting who choke us.
    for (Neighbour* other : m_list)
    {
        if (!other->wanting && !other->served && FirstWanted(*other, lost))
        {
            SayInterested(*other);
        }
    }
}

void
Peer::OnUnchoke(Neighbour& n)
{
    if (!n.served)
    {
        n.served = true;
        if (n.wanting)
        {
            RequestMore(n);
        }
    }
}

void
Peer::OnBlock(Neighbour& n, const Block& block)
{
    const uint32_t size = m_swarm.torrent.BlockB(block);
    if (std::erase(n.outstanding, block) == 0)
    {
        wastedB += size; // cancelled or given up while it was under way
        return;
    }
    const double now = simgrid::s4u::Engine::get_clock();
    n.lastBlockAt = now;
    n.down.Count(now, size);
    const bool isWhole = m_pieces.Store(block);
    if (m_isEndgame)
    {
        CancelElsewhere(n, block);
    }
    RequestMore(n);
    if (!isWhole)
    {
        return;
    }
    if (IsSeed())
    {
        doneAt = now;
        ++m_swarm.done;
        const std::vector<Neighbour*> all = m_list;
        for (Neighbour* other : all)
        {
            CloseIfBothSeeds(*other);
        }
    }
    const std::vector<Neighbour*> all = m_list;
    for (Neighbour* other : all)
    {
        Send(*other, Kind::HAVE, block);
    }
}

/// Every missing block may be asked of everyone who has it, in random order, up to the pipeline's floor.
void
Peer::EndgameRequests(Neighbour& n)
{
    std::vector<Block> missing = m_pieces.Missing(n.theyHave);
    if (!n.served || n.outstanding.empty())
    {
        if (n.wanting && n.outstanding.empty() && missing.empty())
        {
            SayNotInterested(n);
            return;
        }
        if (!n.wanting && !missing.empty())
        {
            SayInterested(n);
        }
    }
    if (!n.served)
    {
        return;
    }
    std::erase_if(missing, [&n](const Block& block) {
        return std::find(n.outstanding.begin(), n.outstanding.end(), block) != n.outstanding.end();
    });
    m_random.Shuffle(missing);
    const uint32_t backlog = Backlog(n);
    for (size_t i = 0; i < missing.size() && n.outstanding.size() < backlog; ++i)
    {
        if (!n.wanting)
        {
            SayInterested(n);
        }
        Ask(n, missing[i]);
    }
}

void
Peer::EndgameEverywhere()
{
    for (Neighbour* n : m_list)
    {
        EndgameRequests(*n);
    }
}

/// A block has come in the endgame: its other requests are cancelled, and those neighbours are asked for more.
void
Peer::CancelElsewhere(const Neighbour& n, const Block& block)
{
    for (Neighbour* other : m_list)
    {
        if (other == &n || !other->wanting)
        {
            continue;
        }
        if (other->served)
        {
            if (std::erase(other->outstanding, block) == 0)
            {
                continue;
            }
            Send(*other, Kind::CANCEL, block);
        }
        EndgameRequests(*other);
    }
}
