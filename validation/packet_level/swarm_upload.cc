// Blocks for those who are unchoked (4.0.2 Uploader.py, RateLimiter.py without a limit).
#include "swarm_client.h"

void
Client::OnRequest(Neighbour& n, const Block& block)
{
    if (n.unchoked)
    {
        n.asked.push_back(block);
        Upload(n);
    }
}

/// Without a limit every turn of the limiter writes a whole block, and every connection whose socket takes data has
/// its turns at once: so each one writes on its own until its socket is full.
void
Client::Upload(Neighbour& n)
{
    while (!n.asked.empty() && n.wire.IsFlushed())
    {
        const Block block = n.asked.front();
        n.asked.pop_front();
        const uint32_t size = m_swarm.torrent.BlockB(block);
        n.up.Count(NowSeconds(), size);
        uploadedB += size;
        Send(n, {Kind::PIECE, block.piece, block.index * m_swarm.torrent.blockB, size});
    }
}
