// Who may download (4.0.2 Choker.py).
#include "swarm_client.h"

using namespace mainline;

void
Client::Tick()
{
    ns3::Simulator::Schedule(ns3::Seconds(CHOKE_S), &Client::Tick, this);
    ++m_ticks;
    if (IsSeed())
    {
        const uint32_t due = ((UPLOAD_SLOTS + 2) / 3 + m_ticks % 3) / 3;
        RechokeSeed(due > m_opened ? due - m_opened : 0);
        m_opened = 0;
        return;
    }
    if (m_ticks % OPTIMISTIC_TICKS == 0)
    {
        Rotate();
    }
    RechokeLeecher();
}

/// An extra rechoke between ticks: no rotation, and what a seed opens counts against its next forced unchokes.
void
Client::Rechoke()
{
    if (IsSeed())
    {
        m_opened += RechokeSeed(0);
    }
    else
    {
        RechokeLeecher();
    }
}

/// The first neighbour that is choked and interested becomes the head of the list.
void
Client::Rotate()
{
    const auto isWaiting = [](const Neighbour* n) { return !n->unchoked && n->interestedInUs; };
    const auto first = std::find_if(m_list.begin(), m_list.end(), isWaiting);
    if (first != m_list.end())
    {
        std::rotate(m_list.begin(), first, m_list.end());
    }
}

/// Reciprocal slots by download rate, optimistic ones by the order of the list; all others are choked.
void
Client::RechokeLeecher()
{
    const double now = NowSeconds();
    std::vector<std::pair<double, Neighbour*>> ranked;
    for (Neighbour* n : m_list)
    {
        n->isKept = false;
        if (n->interestedInUs && now - n->lastBlockAt <= SNUB_S)
        {
            ranked.emplace_back(-n->down.Count(now), n);
        }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    ranked.resize(std::min<size_t>(ranked.size(), UPLOAD_SLOTS - 1));
    for (const auto& [key, n] : ranked)
    {
        n->isKept = true;
        Unchoke(*n);
    }
    size_t optimistic = ranked.size() + 1 < MIN_UPLOADS ? MIN_UPLOADS - ranked.size() : 1;
    for (Neighbour* n : m_list)
    {
        if (n->isKept)
        {
            continue;
        }
        if (optimistic == 0)
        {
            Choke(*n);
            continue;
        }
        optimistic -= n->interestedInUs;
        Unchoke(*n);
    }
}

/// Keeps the best of the unchoked, then fills the free slots from the list; returns how many were free.
uint32_t
Client::RechokeSeed(uint32_t forced)
{
    struct Ranked
    {
        double rank; // the latest unchoked first, then those unchoked long ago
        double rate; // B/s, negative
        Neighbour* n;
    };

    std::vector<Ranked> ranked;
    for (Neighbour* n : m_list)
    {
        n->isKept = false;
        if (n->unchoked && n->interestedInUs)
        {
            const bool hasPending = !n->asked.empty() && n->wire.IsFlushed();
            const bool isRecent = n->unchokeTick + RECENT_TICKS > m_ticks;
            const double rank = isRecent || hasPending ? -static_cast<double>(n->unchokeTick) : 1;
            ranked.push_back({rank, -n->up.Count(NowSeconds()), n});
        }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
        return std::pair(a.rank, a.rate) < std::pair(b.rank, b.rate);
    });
    ranked.resize(std::min<size_t>(ranked.size(), UPLOAD_SLOTS - std::min(forced, UPLOAD_SLOTS)));
    for (const Ranked& kept : ranked)
    {
        kept.n->isKept = true;
    }
    const auto opened = static_cast<uint32_t>(UPLOAD_SLOTS - ranked.size());
    uint32_t free = opened;
    size_t behindLast = 0; // where the list begins from now on
    for (size_t i = 0; i < m_list.size(); ++i)
    {
        Neighbour& n = *m_list[i];
        if (n.isKept)
        {
            continue;
        }
        if (!n.interestedInUs || (n.unchoked && free == 0))
        {
            Choke(n);
        }
        else if (n.unchoked || (free > 0 && n.wire.IsFlushed()))
        {
            Unchoke(n);
            --free;
            behindLast = free == 0 ? i + 1 : behindLast;
        }
    }
    std::rotate(m_list.begin(), m_list.begin() + static_cast<std::ptrdiff_t>(behindLast), m_list.end());
    return opened;
}

/// Without a limit no block is part-sent: CHOKE goes out at once, and what they asked for is forgotten.
void
Client::Choke(Neighbour& n)
{
    if (n.unchoked)
    {
        n.unchoked = false;
        n.asked.clear();
        Send(n, {Kind::CHOKE});
    }
}

void
Client::Unchoke(Neighbour& n)
{
    if (!n.unchoked)
    {
        n.unchoked = true;
        n.unchokeTick = m_ticks;
        Send(n, {Kind::UNCHOKE});
    }
}

void
Client::OnInterested(Neighbour& n)
{
    if (!n.interestedInUs)
    {
        n.interestedInUs = true;
        if (n.unchoked)
        {
            Rechoke();
        }
    }
}

void
Client::OnNotInterested(Neighbour& n)
{
    if (n.interestedInUs)
    {
        n.interestedInUs = false;
        n.asked.clear();
        if (n.unchoked)
        {
            Rechoke();
        }
    }
}
