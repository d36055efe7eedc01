// What a peer has of the file, what it has asked for, and which piece it asks for next (4.0.2 PiecePicker.py).
#pragma once

#include "../packet_level/swarm_random.h"
#include "../packet_level/swarm_rules.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

struct Block
{
    uint32_t piece;
    uint32_t index; // in the piece

    bool operator==(const Block&) const = default;
};

/// The file's division into pieces and blocks; a piece has at most 64 blocks.
struct Torrent
{
    uint64_t fileB;
    uint32_t pieceB;
    uint32_t blockB;

    uint32_t Pieces() const
    {
        return static_cast<uint32_t>((fileB + pieceB - 1) / pieceB);
    }

    uint32_t PieceB(uint32_t piece) const
    {
        return static_cast<uint32_t>(std::min<uint64_t>(pieceB, fileB - uint64_t{piece} * pieceB));
    }

    uint32_t Blocks(uint32_t piece) const
    {
        return (PieceB(piece) + blockB - 1) / blockB;
    }

    uint32_t BlockB(const Block& block) const
    {
        return std::min(blockB, PieceB(block.piece) - block.index * blockB);
    }
};

/// A set of pieces, a bit each.
class PieceSet
{
  public:
    explicit PieceSet(uint32_t pieces)
        : m_words((pieces + 63) / 64)
    {
    }

    bool Has(uint32_t piece) const
    {
        return m_words[piece / 64] >> piece % 64 & 1;
    }

    void Add(uint32_t piece)
    {
        m_words[piece / 64] |= uint64_t{1} << piece % 64;
    }

    void Remove(uint32_t piece)
    {
        m_words[piece / 64] &= ~(uint64_t{1} << piece % 64);
    }

    bool Meets(const PieceSet& other) const
    {
        for (size_t i = 0; i < m_words.size(); ++i)
        {
            if (m_words[i] & other.m_words[i])
            {
                return true;
            }
        }
        return false;
    }

    /// Calls `use` with every piece that is in both.
    template <typename Use>
    void ForBoth(const PieceSet& other, Use use) const
    {
        for (size_t i = 0; i < m_words.size(); ++i)
        {
            for (uint64_t word = m_words[i] & other.m_words[i]; word != 0; word &= word - 1)
            {
                use(static_cast<uint32_t>(64 * i) + static_cast<uint32_t>(std::countr_zero(word)));
            }
        }
    }

  private:
    std::vector<uint64_t> m_words;
};

class Pieces
{
  public:
    Pieces(const Torrent& torrent, bool complete, Random& random)
        : held(torrent.Pieces()),
          wanted(torrent.Pieces()),
          m_random(random),
          m_salt(random.Bits()),
          m_pieces(torrent.Pieces())
    {
        for (uint32_t piece = 0; piece < m_pieces.size(); ++piece)
        {
            m_randomOrder.push_back(piece);
            if (complete)
            {
                held.Add(piece);
                continue;
            }
            wanted.Add(piece);
            m_pieces[piece].missing = m_pieces[piece].unrequested = ~uint64_t{0} >> (64 - torrent.Blocks(piece));
            m_unrequested += torrent.Blocks(piece);
        }
        heldCount = complete ? torrent.Pieces() : 0;
        random.Shuffle(m_randomOrder);
    }

    PieceSet held;
    PieceSet wanted; // with a block that has not been requested
    uint32_t heldCount = 0;

    bool IsComplete() const
    {
        return heldCount == m_pieces.size();
    }

    bool IsAllRequested() const
    {
        return m_unrequested == 0;
    }

    /// The blocks of begun pieces among those that have not arrived.
    std::vector<Block> Missing(const PieceSet& among) const
    {
        std::vector<Block> blocks;
        for (uint32_t piece : m_begun)
        {
            for (uint64_t bits = among.Has(piece) ? m_pieces[piece].missing : 0; bits != 0; bits &= bits - 1)
            {
                blocks.push_back({piece, static_cast<uint32_t>(std::countr_zero(bits))});
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
    std::optional<uint32_t> Next(const PieceSet& theyHave, bool theyAreSeed)
    {
        if (const auto piece = BegunPiece(theyHave, theyAreSeed))
        {
            return piece;
        }
        return heldCount < mainline::RANDOM_FIRST ? RandomPiece(theyHave) : RarestPiece(theyHave);
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
        uint64_t& unrequested = m_pieces[piece].unrequested;
        const auto index = static_cast<uint32_t>(std::countr_zero(unrequested));
        unrequested &= unrequested - 1;
        --m_unrequested;
        if (unrequested == 0)
        {
            wanted.Remove(piece);
        }
        return {piece, index};
    }

    /// The block will not come: it may be requested again.
    void GiveBack(const Block& block)
    {
        m_pieces[block.piece].unrequested |= uint64_t{1} << block.index;
        wanted.Add(block.piece);
        ++m_unrequested;
    }

    /// The block is here; whether it completes its piece.
    bool Store(const Block& block)
    {
        Piece& piece = m_pieces[block.piece];
        piece.missing &= ~(uint64_t{1} << block.index);
        if (piece.missing != 0)
        {
            return false;
        }
        ++heldCount;
        held.Add(block.piece);
        std::erase(m_begun, block.piece);
        return true;
    }

  private:
    struct Piece
    {
        uint64_t unrequested = 0; // by block
        uint64_t missing = 0;
        uint32_t copies = 0; // known among the neighbours
        bool begunOnSeed = false;
    };

    /// Strict priority: the begun piece with fewest copies, ties at random; of a seed only those begun on seeds.
    std::optional<uint32_t> BegunPiece(const PieceSet& theyHave, bool theyAreSeed)
    {
        std::optional<uint32_t> best;
        uint32_t ties = 0;
        for (uint32_t piece : m_begun)
        {
            const Piece& p = m_pieces[piece];
            if (p.unrequested == 0 || !theyHave.Has(piece) || (theyAreSeed && !p.begunOnSeed))
            {
                continue;
            }
            if (!best || p.copies < m_pieces[*best].copies)
            {
                best = piece;
                ties = 1;
            }
            else if (p.copies == m_pieces[*best].copies && m_random.Below(++ties) == 0)
            {
                best = piece;
            }
        }
        return best;
    }

    std::optional<uint32_t> RandomPiece(const PieceSet& theyHave) const
    {
        for (uint32_t piece : m_randomOrder)
        {
            if (wanted.Has(piece) && theyHave.Has(piece))
            {
                return piece;
            }
        }
        return std::nullopt;
    }

    std::optional<uint32_t> RarestPiece(const PieceSet& theyHave) const
    {
        std::optional<uint32_t> best;
        wanted.ForBoth(theyHave, [&](uint32_t piece) {
            if (!best || ComesBefore(piece, *best))
            {
                best = piece;
            }
        });
        return best;
    }

    bool ComesBefore(uint32_t piece, uint32_t other) const
    {
        const uint32_t copies = m_pieces[piece].copies;
        const uint32_t others = m_pieces[other].copies;
        return copies != others ? copies < others : TieRank(piece) < TieRank(other);
    }

    /// Random among the pieces with as many copies, the peer's own, and the same until the copies change.
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

    Random& m_random;
    uint64_t m_salt;
    std::vector<Piece> m_pieces;
    std::vector<uint32_t> m_begun;
    std::vector<uint32_t> m_randomOrder;
    uint32_t m_unrequested = 0; // blocks
};
