// The network of a swarm: a host per client, each with a link of its own to one router that forwards at once.
#pragma once

#include "common.h"

class Star
{
  public:
    struct Link
    {
        double up;       // bit/s
        double down;     // bit/s
        uint32_t buffer; // packets waiting in each direction at most
    };

    /// One host for each one-way propagation delay in s.
    Star(const Link& link, const std::vector<double>& delays)
    {
        using namespace ns3;
        const auto router = CreateObject<Node>();
        InternetStackHelper internet;
        internet.SetIpv6StackInstall(false);
        internet.SetRoutingHelper(Ipv4StaticRoutingHelper());
        internet.Install(router);
        Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
        PointToPointHelper helper;
        helper.DisableFlowControl(); // no queue but the devices'
        const QueueSize limit(QueueSizeUnit::PACKETS, link.buffer);
        helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(limit));
        for (double delay : delays)
        {
            const auto host = CreateObject<Node>();
            internet.Install(host);
            helper.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
            const NetDeviceContainer devices = helper.Install(host, router);
            const auto up = devices.Get(0)->GetObject<PointToPointNetDevice>();
            const auto down = devices.Get(1)->GetObject<PointToPointNetDevice>();
            up->SetAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(link.up))));
            down->SetAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(link.down))));
            up->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Star::OnSent, this));
            up->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Star::OnDroppedUp, this));
            down->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Star::OnDroppedDown, this));
            for (const auto& device : {up, down})
            {
                device->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Star::OnQueue, this));
            }
            const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
            addresses.NewNetwork();
            Ipv4StaticRoutingHelper().GetStaticRouting(host->GetObject<Ipv4>())
                ->SetDefaultRoute(interfaces.GetAddress(1), 1);
            m_numbers[interfaces.GetAddress(0)] = static_cast<uint32_t>(m_hosts.size());
            m_hosts.push_back({host, interfaces.GetAddress(0), up->GetQueue()});
        }
    }

    ns3::Ptr<ns3::Node> Host(uint32_t number) const
    {
        return m_hosts[number].node;
    }

    ns3::Ipv4Address Address(uint32_t number) const
    {
        return m_hosts[number].address;
    }

    uint32_t Number(ns3::Ipv4Address address) const
    {
        return m_numbers.at(address);
    }

    /// Packets that wait on the way up; the one being transmitted is not among them.
    uint32_t QueuedPackets(uint32_t number) const
    {
        return m_hosts[number].uplink->GetNPackets();
    }

    uint32_t QueuedBytes(uint32_t number) const
    {
        return m_hosts[number].uplink->GetNBytes();
    }

    uint64_t sentB = 0; // over all uplinks, with all headers
    uint64_t droppedUp = 0;
    uint64_t droppedDown = 0;
    uint32_t longestQueue = 0; // packets, of all queues

  private:
    struct HostAndLink
    {
        ns3::Ptr<ns3::Node> node;
        ns3::Ipv4Address address;
        ns3::Ptr<ns3::Queue<ns3::Packet>> uplink;
    };

    void OnSent(ns3::Ptr<const ns3::Packet> packet)
    {
        sentB += packet->GetSize();
    }

    void OnDroppedUp(ns3::Ptr<const ns3::Packet>)
    {
        ++droppedUp;
    }

    void OnDroppedDown(ns3::Ptr<const ns3::Packet>)
    {
        ++droppedDown;
    }

    void OnQueue(uint32_t, uint32_t packets)
    {
        longestQueue = std::max(longestQueue, packets);
    }

    std::vector<HostAndLink> m_hosts;
    std::map<ns3::Ipv4Address, uint32_t> m_numbers;
};
