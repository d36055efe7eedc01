// What a client has of the file, what it has asked for, and which piece it asks for next (4.0.2 PiecePicker.py).
#pragma once

#include "swarm_messages.h"
#include "swarm_random.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

/// The file's division into pieces and blocks.
struct Torrent
{
    uint32_t fileB;
    uint32_t pieceB;
    uint32_t blockB;

    uint32_t Pieces() const
    {
        return (fileB + pieceB - 1) / pieceB;
    }

    uint32_t PieceB(uint32_t piece) const
    {
        return std::min(pieceB, fileB - piece * pieceB);
    }

    uint32_t Blocks(uint32_t piece) const
    {
        return (PieceB(piece) + blockB - 1) / blockB;
    }

    uint32_t BlockB(const Block& block) const
    {
        return std::min(blockB, PieceB(block.piece) - block.index * blockB);
    }

    Block At(uint32_t piece, uint32_t begin) const
    {
        return {piece, begin / blockB};
    }
};

class Pieces
{
  public:
    Pieces(const Torrent& torrent, bool complete, Random& random)
        : m_torrent(torrent),
          m_random(random),
          m_salt(random.Bits()),
          m_pieces(torrent.Pieces())
    {
        for (uint32_t piece = 0; piece < m_pieces.size(); ++piece)
        {
            m_pieces[piece].unrequested.assign(torrent.Blocks(piece), !complete);
            m_pieces[piece].missing = m_pieces[piece].unrequested;
            m_randomOrder.push_back(piece);
            m_unrequested += complete ? 0 : torrent.Blocks(piece);
        }
        m_held = complete ? torrent.Pieces() : 0;
        random.Shuffle(m_randomOrder);
    }

    bool Has(uint32_t piece) const
    {
        return !IsAny(m_pieces[piece].missing);
    }

    std::vector<bool> Held() const
    {
        std::vector<bool> held;
        for (uint32_t piece = 0; piece < m_pieces.size(); ++piece)
        {
            held.push_back(Has(piece));
        }
        return held;
    }

    uint32_t HeldCount() const
    {
        return m_held;
    }

    bool IsComplete() const
    {
        return m_held == m_pieces.size();
    }

    /// Whether some block of the piece has not been requested.
    bool IsWanted(uint32_t piece) const
    {
        return IsAny(m_pieces[piece].unrequested);
    }

    /// Whether every block has been requested.
    bool IsAllRequested() const
    {
        return m_unrequested == 0;
    }

    /// A wanted piece among those.
    bool IsAnyWanted(const std::vector<bool>& theyHave) const
    {
        for (uint32_t piece = 0; piece < m_pieces.size(); ++piece)
        {
            if (theyHave[piece] && IsWanted(piece))
            {
                return true;
            }
        }
        return false;
    }

    /// The blocks of begun pieces among those that have not arrived.
    std::vector<Block> Missing(const std::vector<bool>& theyHave) const
    {
        std::vector<Block> blocks;
        for (uint32_t piece : m_begun)
        {
            for (uint32_t index = 0; theyHave[piece] && index < m_pieces[piece].missing.size(); ++index)
            {
                if (m_pieces[piece].missing[index])
                {
                    blocks.push_back({piece, index});
                }
            }
        }
        return blocks;
    }

    /// One more neighbour has the piece.
    void Heard(uint32_t piece)
    {
        ++m_pieces[piece].copies;
    }

    /// The piece to ask for next of a neighbour with these.
    std::optional<uint32_t> Next(const std::vector<bool>& theyHave, bool isSeed)
    {
        if (const auto piece = BegunPiece(theyHave, isSeed))
        {
            return piece;
        }
        if (m_held < mainline::RANDOM_FIRST)
        {
            for (uint32_t piece : m_randomOrder)
            {
                if (theyHave[piece] && IsWanted(piece))
                {
                    return piece;
                }
            }
            return std::nullopt;
        }
        return RarestPiece(theyHave);
    }

    void Begin(uint32_t piece, bool onSeed)
    {
        if (std::find(m_begun.begin(), m_begun.end(), piece) == m_begun.end())
        {
            m_begun.push_back(piece);
        }
        m_pieces[piece].begunOnSeed |= onSeed;
    }

    /// The first unrequested block of a wanted piece, requested from now on.
    Block Take(uint32_t piece)
    {
        auto& unrequested = m_pieces[piece].unrequested;
        const auto found = std::find(unrequested.begin(), unrequested.end(), true);
        *found = false;
        --m_unrequested;
        return {piece, static_cast<uint32_t>(found - unrequested.begin())};
    }

    /// The block will not come: it may be requested again.
    void GiveBack(const Block& block)
    {
        m_pieces[block.piece].unrequested[block.index] = true;
        ++m_unrequested;
    }

    /// The block is here; whether it completes its piece.
    bool Store(const Block& block)
    {
        Piece& piece = m_pieces[block.piece];
        piece.missing[block.index] = false;
        if (IsAny(piece.missing))
        {
            return false;
        }
        ++m_held;
        std::erase(m_begun, block.piece);
        return true;
    }

  private:
    struct Piece
    {
        std::vector<bool> unrequested; // by block
        std::vector<bool> missing;
        uint32_t copies = 0; // known among the neighbours
        bool begunOnSeed = false;
    };

    static bool IsAny(const std::vector<bool>& flags)
    {
        return std::find(flags.begin(), flags.end(), true) != flags.end();
    }

    /// Strict priority: the begun piece with fewest copies, ties at random; of a seed only those begun on seeds.
    std::optional<uint32_t> BegunPiece(const std::vector<bool>& theyHave, bool isSeed)
    {
        std::optional<uint32_t> best;
        uint32_t ties = 0;
        for (uint32_t piece : m_begun)
        {
            if (!theyHave[piece] || !IsWanted(piece) || (isSeed && !m_pieces[piece].begunOnSeed))
            {
                continue;
            }
            if (!best || m_pieces[piece].copies < m_pieces[*best].copies)
            {
                best = piece;
                ties = 1;
            }
            else if (m_pieces[piece].copies == m_pieces[*best].copies && m_random.Below(++ties) == 0)
            {
                best = piece;
            }
        }
        return best;
    }

    std::optional<uint32_t> RarestPiece(const std::vector<bool>& theyHave) const
    {
        std::optional<uint32_t> best;
        for (uint32_t piece = 0; piece < m_pieces.size(); ++piece)
        {
            if (theyHave[piece] && IsWanted(piece) && (!best || ComesBefore(piece, *best)))
            {
                best = piece;
            }
        }
        return best;
    }

    bool ComesBefore(uint32_t piece, uint32_t other) const
    {
        const uint32_t copies = m_pieces[piece].copies;
        const uint32_t others = m_pieces[other].copies;
        return copies != others ? copies < others : TieRank(piece) < TieRank(other);
    }

    /// Random among the pieces with as many copies, the client's own, and the same until the copies change.
    uint64_t TieRank(uint32_t piece) const
    {
        uint64_t z = m_salt ^ uint64_t{m_pieces[piece].copies} << 32 ^ piece;
        for (int round = 0; round < 2; ++round) // SplitMix64's finish (Steele, Lea, Flood, OOPSLA 2014)
        {
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
            z = (z ^ z >> 27) * 0x94D049BB133111EB;
            z ^= z >> 31;
        }
        return z;
    }

    const Torrent& m_torrent;
    Random& m_random;
    uint64_t m_salt;
    std::vector<Piece> m_pieces;
    std::vector<uint32_t> m_begun;
    std::vector<uint32_t> m_randomOrder;
    uint32_t m_unrequested = 0; // blocks
    uint32_t m_held = 0;        // pieces
};
