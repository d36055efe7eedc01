// A BitTorrent client with the rules of mainline 4.0, as the flow-level engine has them (btflow/kernels).
#pragma once

#include "swarm_pieces.h"
#include "swarm_wire.h"

#include <array>
#include <functional>
#include <limits>
#include <memory>

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

/// What a client knows of a neighbour and does about it.
struct Neighbour
{
    uint32_t number = 0; // of the client at the other end
    bool isInitiator = false;
    bool isReady = false; // handshake done, connection open
    Wire wire;
    Decoder decoder;
    std::deque<double> writtenAt; // s: our messages that have not been read

    std::vector<bool> theyHave; // by piece
    uint32_t theirCount = 0;

    bool wanting = false; // we said that we are interested
    bool served = false;  // they unchoked us
    std::vector<Block> outstanding;
    std::vector<Block> givenUp; // asked for and then not expected any more
    Rate down;
    double lastBlockAt = -std::numeric_limits<double>::infinity();

    bool interestedInUs = false;
    bool unchoked = false;
    bool isKept = false;      // scratch of the choker
    uint32_t unchokeTick = 0; // of the last unchoke
    std::deque<Block> asked;  // what they wait for
    Rate up;
};

class Client
{
  public:
    /// What the clients of a swarm share.
    struct Swarm
    {
        Torrent torrent;
        bool nagle;
        std::vector<std::unique_ptr<Client>> clients;
        std::function<ns3::Ptr<ns3::TcpSocketBase>(uint32_t, uint32_t)> connect; // a socket on its way to the second
        std::function<void()> onDone;                                            // a leecher holds the file
    };

    Client(Swarm& swarm, uint32_t number, bool isSeed, uint32_t randomSeed);
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void Start();
    void Accept(ns3::Ptr<ns3::TcpSocketBase> socket, uint32_t from);

    bool IsSeed() const
    {
        return m_pieces.IsComplete();
    }

    uint64_t Timeouts() const;
    uint64_t Retransmitted() const;

    double startedAt = -1;          // s
    double doneAt = -1;             // s
    uint64_t uploadedB = 0;         // of blocks, handed to sockets
    uint64_t downloadedB = 0;       // of blocks, wanted or not
    uint64_t wastedB = 0;           // of blocks that had been given up
    uint64_t wastedEarlyB = 0;      // the part of it before the endgame
    std::map<Kind, Samples> delays; // s, from a message's writing here to its reading there

  private:
    // Connections (swarm_client.cc)
    Neighbour& To(uint32_t number);
    void Connect(uint32_t other);
    void Use(Neighbour& n, ns3::Ptr<ns3::TcpSocketBase> socket);
    void Send(Neighbour& n, const Message& message);
    void Receive(Neighbour& n, const Bytes& bytes);
    void Handle(Neighbour& n, const Message& message);
    void OnReady(Neighbour& n);
    void OnBitfield(Neighbour& n, const Message& message);
    void OnHave(Neighbour& n, uint32_t piece);
    void CloseIfBothSeeds(Neighbour& n);
    void Release(Neighbour& n);

    // Downloading (swarm_download.cc)
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
    void Finish();
    void EndgameRequests(Neighbour& n);
    void EndgameEverywhere();
    void CancelElsewhere(const Neighbour& n, const Block& block);

    // Uploading (swarm_upload.cc)
    void OnRequest(Neighbour& n, const Block& block);
    void Upload(Neighbour& n);

    // The choker (swarm_choker.cc)
    void Tick();
    void Rechoke();
    void RechokeLeecher();
    uint32_t RechokeSeed(uint32_t forced);
    void Rotate();
    void Choke(Neighbour& n);
    void Unchoke(Neighbour& n);
    void OnInterested(Neighbour& n);
    void OnNotInterested(Neighbour& n);

    Swarm& m_swarm;
    uint32_t m_number;
    Random m_random;
    Pieces m_pieces;
    bool m_isEndgame = false;
    std::map<uint32_t, std::unique_ptr<Neighbour>> m_neighbours; // by number, closed ones too
    std::vector<Neighbour*> m_list;                              // the choker's, from its head on
    uint32_t m_ticks = 0;
    uint32_t m_opened = 0; // slots of a seed filled between ticks
};
