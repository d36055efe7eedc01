// Who may download (4.0.2 Choker.py).
#include "peer.h"

using namespace mainline;

void
Peer::Tick()
{
    ++m_ticks;
    if (IsSeed())
    {
        const uint32_t due = ((m_swarm.slots + 2) / 3 + m_ticks % 3) / 3;
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
Peer::Rechoke()
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
Peer::Rotate()
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
Peer::RechokeLeecher()
{
    const double now = simgrid::s4u::Engine::get_clock();
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
    ranked.resize(std::min<size_t>(ranked.size(), m_swarm.slots - 1));
    for (const auto& [key, n] : ranked)
    {
        n->isKept = true;
        SetUnchoked(*n, true);
    }
    size_t optimistic = ranked.size() + 1 < MIN_UPLOADS ? MIN_UPLOADS - ranked.size() : 1;
    const std::vector<Neighbour*> all = m_list;
    for (Neighbour* n : all)
    {
        if (!n->isKept)
        {
            const bool isLucky = optimistic > 0;
            optimistic -= isLucky && n->interestedInUs;
            SetUnchoked(*n, isLucky);
        }
    }
}

/// Keeps the best of the unchoked, then fills the free slots from the list; returns how many were free.
uint32_t
Peer::RechokeSeed(uint32_t forced)
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
            const bool isRecent = n->unchokeTick + RECENT_TICKS > m_ticks;
            const double rank = isRecent || !n->asked.empty() ? -static_cast<double>(n->unchokeTick) : 1;
            ranked.push_back({rank, -n->up.Count(simgrid::s4u::Engine::get_clock()), n});
        }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
        return std::pair(a.rank, a.rate) < std::pair(b.rank, b.rate);
    });
    ranked.resize(std::min<size_t>(ranked.size(), m_swarm.slots - std::min(forced, m_swarm.slots)));
    for (const Ranked& kept : ranked)
    {
        kept.n->isKept = true;
    }
    const auto opened = static_cast<uint32_t>(m_swarm.slots - ranked.size());
    uint32_t free = opened;
    std::vector<std::pair<Neighbour*, bool>> changes;
    size_t behindLast = 0; // where the list begins from now on
    for (size_t i = 0; i < m_list.size(); ++i)
    {
        Neighbour& n = *m_list[i];
        if (n.isKept)
        {
            continue;
        }
        const bool isChosen = n.interestedInUs && free > 0;
        changes.emplace_back(&n, isChosen);
        free -= isChosen;
        behindLast = isChosen && free == 0 ? i + 1 : behindLast;
    }
    std::rotate(m_list.begin(), m_list.begin() + static_cast<std::ptrdiff_t>(behindLast), m_list.end());
    for (const auto& [n, isChosen] : changes)
    {
        SetUnchoked(*n, isChosen);
    }
    return opened;
}

void
Peer::SetUnchoked(Neighbour& n, bool unchoked)
{
    if (n.unchoked == unchoked)
    {
        return;
    }
    n.unchoked = unchoked;
    if (unchoked)
    {
        n.unchokeTick = m_ticks;
    }
    if (!n.isSending)
    {
        Tell(n);
    }
}

/// Tells the neighbour what was decided, unless it knows; whom we choke has nothing to wait for any more.
void
Peer::Tell(Neighbour& n)
{
    if (n.told != n.unchoked && n.isOpen)
    {
        n.told = n.unchoked;
        if (!n.told)
        {
            n.asked.clear();
        }
        Send(n, n.told ? Kind::UNCHOKE : Kind::CHOKE);
    }
}

void
Peer::OnInterested(Neighbour& n, bool isInterested)
{
    if (n.interestedInUs == isInterested)
    {
        return;
    }
    n.interestedInUs = isInterested;
    if (!isInterested)
    {
        n.asked.clear();
    }
    if (n.unchoked)
    {
        Rechoke();
    }
}
