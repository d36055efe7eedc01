// Messages between hosts of SimGrid, each a one-sided communication with something to do when it has arrived.
#pragma once

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

/// Neither mailboxes nor a process for each message: a callback is the cheapest that S4U's public interface has.
class Network
{
  public:
    /// Sends so many bytes; at once and for nothing if messages are not to cost anything.
    template <typename Arrived>
    void Send(simgrid::s4u::Host* from, simgrid::s4u::Host* to, uint64_t bytes, Arrived arrived)
    {
        ++communications;
        auto transfer = std::make_unique<Transfer>();
        Transfer* const t = transfer.release();
        t->arrived = std::move(arrived);
        t->comm = simgrid::s4u::Comm::sendto_init(from, to);
        t->comm->set_payload_size(bytes);
        t->comm->on_this_completion_cb([this, t](const simgrid::s4u::Comm&) { Complete(t); });
        t->comm->start();
    }

    uint64_t communications = 0;

  private:
    struct Transfer
    {
        simgrid::s4u::CommPtr comm;
        std::function<void()> arrived;
    };

    /// A communication cannot be freed in its own callback: the one before it is.
    void Complete(Transfer* t)
    {
        m_last.reset(t);
        const auto arrived = std::move(t->arrived);
        arrived();
    }

    std::unique_ptr<Transfer> m_last;
};
