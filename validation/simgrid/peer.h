// A BitTorrent peer with the rules of mainline 4.0, as the flow-level engine (btflow/kernels) and the packet-level
// client (validation/packet_level) have them, on SimGrid's communications.
//
// Constants and random numbers are those of swarm_rules.h and swarm_random.h over there. Choker, requests and picker are
// written a second time: ns-3's swarms are frozen, running them again takes an hour, and a common text would change the
// program that made them. They differ too: no message leaves amid a block here, and sets of pieces are bits.
#pragma once

#include "network.h"
#include "pieces.h"

#include <deque>
#include <limits>

enum class Kind
{
    BITFIELD,
    CHOKE,
    UNCHOKE,
    INTERESTED,
    NOT_INTERESTED,
    HAVE,
    REQUEST,
    CANCEL,
    PIECE
};

/// A mean over at most 20 s, updated in place (4.0.2 CurrentRateMeasure.py).
class Rate
{
  public:
    void Start(double now)
    {
        m_since = m_last = now - mainline::RATE_FUDGE_S;
    }

    /// Counts so many bytes at this time, none to read it; B/s.
    double Count(double now, double bytes = 0)
    {
        m_rate = (m_rate * (m_last - m_since) + bytes) / (now - m_since);
        m_since = std::max(m_since, now - mainline::RATE_WINDOW_S);
        m_last = now;
        return m_rate;
    }

  private:
    double m_rate = 0;
    double m_since = 0;
    double m_last = 0;
};

class Peer;

/// One end of a connection: what a peer knows of the neighbour there and does about it.
struct Neighbour
{
    Neighbour(Peer& self, Peer& there, uint32_t pieces)
        : owner(self),
          peer(there),
          theyHave(pieces)
    {
    }

    Peer& owner;
    Peer& peer;
    Neighbour* mate = nullptr; // the other end
    bool isOpen = true;

    PieceSet theyHave;
    uint32_t theirCount = 0;

    bool wanting = false; // we said that we are interested
    bool served = false;  // they unchoked us
    std::vector<Block> outstanding;
    Rate down;
    double lastBlockAt = -std::numeric_limits<double>::infinity();

    bool interestedInUs = false;
    bool unchoked = false;
    bool told = false;        // they were told that they are unchoked
    bool isSending = false;   // a block is under way, and CHOKE or UNCHOKE goes out behind it
    bool isKept = false;      // scratch of the choker
    uint32_t unchokeTick = 0; // of the last unchoke
    std::deque<Block> asked;  // what they wait for
    Rate up;
};

/// What the peers of a swarm share.
struct Swarm
{
    Torrent torrent;
    uint32_t slots;      // for uploads
    bool hasMessages;    // whether messages other than blocks travel; if not, they arrive at once
    uint32_t leechers;
    uint32_t done = 0;
    Network network{};
    std::vector<std::unique_ptr<Peer>> peers{};

    bool IsDone() const
    {
        return done == leechers;
    }
};

class Peer
{
  public:
    Peer(Swarm& swarm, uint32_t number, bool isSeed, uint32_t randomSeed, double start, simgrid::s4u::Host* host);
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// The actor of the peer: it starts, and from then on it is woken for the choker alone.
    void operator()();

    bool IsSeed() const
    {
        return m_pieces.IsComplete();
    }

    double startedAt = -1; // s
    double doneAt = -1;    // s
    uint64_t uploadedB = 0;
    uint64_t wastedB = 0; // of blocks that had been cancelled

  private:
    // Connections and messages (peer.cc)
    void Start();
    void Connect(Peer& other);
    Neighbour& Open(Peer& other);
    void Send(Neighbour& n, Kind kind, const Block& block = {});
    void Handle(Neighbour& n, Kind kind, const Block& block);
    void SendBitfield(Neighbour& n);
    void OnBitfield(Neighbour& n, const PieceSet& held);
    void OnHave(Neighbour& n, uint32_t piece);
    void CloseIfBothSeeds(Neighbour& n);
    void Close(Neighbour& n);
    void OnRequest(Neighbour& n, const Block& block);
    void Upload(Neighbour& n);

    // Downloading (download.cc)
    uint32_t Backlog(Neighbour& n);
    void SayInterested(Neighbour& n);
    void SayNotInterested(Neighbour& n);
    void Ask(Neighbour& n, const Block& block);
    void RequestMore(Neighbour& n, const std::vector<uint32_t>* among = nullptr);
    std::optional<uint32_t> FirstWanted(const Neighbour& n, const std::vector<uint32_t>& among) const;
    void LoseInterest();
    void LetGo(Neighbour& n);
    void OnUnchoke(Neighbour& n);
    void OnBlock(Neighbour& n, const Block& block);
    void EndgameRequests(Neighbour& n);
    void EndgameEverywhere();
    void CancelElsewhere(const Neighbour& n, const Block& block);

    // The choker (choker.cc)
    void Tick();
    void Rechoke();
    void RechokeLeecher();
    uint32_t RechokeSeed(uint32_t forced);
    void Rotate();
    void SetUnchoked(Neighbour& n, bool unchoked);
    void Tell(Neighbour& n);
    void OnInterested(Neighbour& n, bool isInterested);

    Swarm& m_swarm;
    simgrid::s4u::Host* m_host;
    Random m_random;
    Pieces m_pieces;
    double m_start; // s
    bool m_isEndgame = false;
    std::vector<std::unique_ptr<Neighbour>> m_neighbours; // closed ones too
    std::vector<Neighbour*> m_list;                       // the choker's, from its head on
    uint32_t m_ticks = 0;
    uint32_t m_opened = 0; // slots of a seed filled between ticks
};
