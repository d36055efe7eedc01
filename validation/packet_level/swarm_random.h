// Random numbers that are the same with every compiler: the standard library's engine, distributions of our own.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

/// Numbers of one owner: what another one draws does not change them.
class Random
{
  public:
    Random(uint32_t seed, uint32_t owner)
    {
        std::seed_seq sequence{seed, owner};
        m_engine.seed(sequence);
    }

    uint64_t Bits()
    {
        return m_engine();
    }

    double UpTo(double limit)
    {
        return limit * 0x1p-53 * static_cast<double>(Bits() >> 11);
    }

    /// One of 0 ... count - 1; the remainder's bias is below 2^-50 here.
    uint32_t Below(size_t count)
    {
        return static_cast<uint32_t>(Bits() % count);
    }

    template <typename T>
    void Shuffle(std::vector<T>& items)
    {
        for (size_t i = items.size(); i > 1; --i)
        {
            std::swap(items[i - 1], items[Below(i)]);
        }
    }

  private:
    std::mt19937_64 m_engine;
};
