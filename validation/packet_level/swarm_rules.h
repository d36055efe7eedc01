// The constants of the swarm's client, BitTorrent mainline 4.0: models/clients/mainline-4.0.toml has their sources.
#pragma once

#include <cstdint>

namespace mainline
{

constexpr double CHOKE_S = 10;             // between two ticks of the choker
constexpr uint32_t OPTIMISTIC_TICKS = 3;   // between two rotations of a leecher's list
constexpr uint32_t RECENT_TICKS = 3;       // a seed keeps peers unchoked so recently
constexpr uint32_t MIN_UPLOADS = 2;        // interested peers that a leecher unchokes at least
constexpr uint32_t UPLOAD_SLOTS = 7;       // download.py, automatic max_uploads where the upload is not limited
constexpr double SNUB_S = 30;              // without a block: no reciprocal slot
constexpr double RATE_WINDOW_S = 20;
constexpr double RATE_FUDGE_S = 5;         // a rate's first window begins so long before its creation
constexpr uint32_t PIPELINE_FLOOR = 2;     // requests
constexpr double PIPELINE_S = 4;           // of data requested beyond the floor
constexpr uint32_t PIPELINE_REFILL = 5;    // a refill asks for so many times what is beyond the floor
constexpr uint32_t PIPELINE_CAP = 50;      // requests
constexpr double PIPELINE_CAP_SLOPE = 0.075;
constexpr uint32_t RANDOM_FIRST = 4;       // pieces held from which on the picker is rarest first
constexpr uint32_t HEADER_B = 48;          // handshake: protocol name, reserved bytes, info hash
constexpr uint32_t ID_B = 20;              // handshake: peer id

} // namespace mainline
