// The messages of BEP 3 as bytes: how each is written, and a decoder for the stream they arrive in.
#pragma once

#include "swarm_rules.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

/// Kinds of messages; those below 20 have their number on the wire, the two parts of the handshake none.
enum class Kind : uint8_t
{
    CHOKE,
    UNCHOKE,
    INTERESTED,
    NOT_INTERESTED,
    HAVE,
    BITFIELD,
    REQUEST,
    PIECE,
    CANCEL,
    HEADER = 20,
    ID
};

struct Block
{
    uint32_t piece;
    uint32_t index; // in the piece

    bool operator==(const Block&) const = default;
};

struct Message
{
    Kind kind;
    uint32_t piece = 0;
    uint32_t begin = 0;  // B
    uint32_t length = 0; // B, of the block
    std::vector<bool> held{}; // BITFIELD: by piece, padded to whole bytes
};

using Bytes = std::vector<uint8_t>;

inline void
Append(Bytes& bytes, uint32_t number)
{
    for (int shift : {24, 16, 8, 0})
    {
        bytes.push_back(static_cast<uint8_t>(number >> shift));
    }
}

/// A message's bytes; of a PIECE those before the block.
inline Bytes
Encoded(const Message& message)
{
    if (message.kind >= Kind::HEADER)
    {
        return Bytes(message.kind == Kind::HEADER ? mainline::HEADER_B : mainline::ID_B);
    }
    Bytes body{static_cast<uint8_t>(message.kind)};
    uint32_t length = 0; // of a block that follows
    switch (message.kind)
    {
    case Kind::HAVE:
        Append(body, message.piece);
        break;
    case Kind::BITFIELD:
        body.resize(1 + (message.held.size() + 7) / 8);
        for (size_t piece = 0; piece < message.held.size(); ++piece)
        {
            body[1 + piece / 8] |= static_cast<uint8_t>(message.held[piece] << (7 - piece % 8));
        }
        break;
    case Kind::REQUEST:
    case Kind::CANCEL:
        Append(body, message.piece);
        Append(body, message.begin);
        Append(body, message.length);
        break;
    case Kind::PIECE:
        Append(body, message.piece);
        Append(body, message.begin);
        length = message.length;
        break;
    default:
        break;
    }
    Bytes bytes;
    Append(bytes, static_cast<uint32_t>(body.size()) + length);
    bytes.insert(bytes.end(), body.begin(), body.end());
    return bytes;
}

/// Cuts a stream into messages; a block's bytes are counted and forgotten.
class Decoder
{
  public:
    /// The messages that these bytes complete.
    std::vector<Message> Feed(const Bytes& bytes)
    {
        std::vector<Message> messages;
        for (size_t at = 0; at < bytes.size();)
        {
            if (m_blockLeft > 0)
            {
                const auto taken = std::min<size_t>(m_blockLeft, bytes.size() - at);
                m_blockLeft -= static_cast<uint32_t>(taken);
                at += taken;
            }
            else
            {
                m_head.push_back(bytes[at++]);
                if (m_head.size() < m_headSize)
                {
                    continue;
                }
                ReadHead();
            }
            if (m_isWhole && m_blockLeft == 0)
            {
                messages.push_back(m_message);
                m_head.clear();
                m_isWhole = false;
                m_headSize = m_message.kind == Kind::HEADER ? mainline::ID_B : LENGTH_B;
                m_isHandshake = m_message.kind == Kind::HEADER;
            }
        }
        return messages;
    }

  private:
    static constexpr size_t LENGTH_B = 4;
    static constexpr size_t PIECE_HEAD_B = 13;

    uint32_t Number(size_t at) const
    {
        return uint32_t{m_head[at]} << 24 | m_head[at + 1] << 16 | m_head[at + 2] << 8 | m_head[at + 3];
    }

    /// As much of a message as was awaited is there: the handshake, a length, a kind, or all but a block.
    void ReadHead()
    {
        if (m_isHandshake)
        {
            m_message = {m_headSize == mainline::HEADER_B ? Kind::HEADER : Kind::ID};
            m_isWhole = true;
            return;
        }
        const uint32_t length = Number(0);
        if (m_head.size() == LENGTH_B)
        {
            ++m_headSize;
            return;
        }
        const auto kind = static_cast<Kind>(m_head[LENGTH_B]);
        if (m_head.size() == LENGTH_B + 1)
        {
            m_headSize = kind == Kind::PIECE ? PIECE_HEAD_B : LENGTH_B + length;
            if (m_headSize > m_head.size())
            {
                return;
            }
        }
        m_message = {kind};
        m_isWhole = true;
        switch (kind)
        {
        case Kind::BITFIELD:
            for (size_t bit = 0; bit < 8 * (m_head.size() - 5); ++bit)
            {
                m_message.held.push_back(m_head[5 + bit / 8] >> (7 - bit % 8) & 1);
            }
            break;
        case Kind::HAVE:
            m_message.piece = Number(5);
            break;
        case Kind::PIECE:
            m_message.piece = Number(5);
            m_message.begin = Number(9);
            m_message.length = m_blockLeft = length - 9;
            break;
        case Kind::REQUEST:
        case Kind::CANCEL:
            m_message.piece = Number(5);
            m_message.begin = Number(9);
            m_message.length = Number(13);
            break;
        default:
            if (kind > Kind::CANCEL)
            {
                throw std::logic_error("a message of no known kind");
            }
        }
    }

    Bytes m_head;
    size_t m_headSize = mainline::HEADER_B; // at which ReadHead goes on
    bool m_isHandshake = true;
    bool m_isWhole = false; // but for the block
    uint32_t m_blockLeft = 0; // B
    Message m_message{Kind::HEADER};
};
