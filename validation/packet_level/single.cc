// One bulk TCP flow on a link with random loss of what goes to the receiver.

#include "common.h"

using namespace ns3;

namespace
{

const std::vector<double> RAMP_RTTS = {1, 1.5, 3, 3.5, 10, 10.5, 30, 30.5};

/// Notes the bytes delivered at given times after the first data segment.
class RampFlow : public BulkFlow
{
  public:
    using BulkFlow::BulkFlow;

    double rtt = 0; // s
    Ptr<ErrorModel> errors; // disabled until there is data: the opening of the connection loses nothing
    std::vector<double> bytesAt = std::vector<double>(RAMP_RTTS.size(), std::nan(""));

  private:
    void OnFirstData() override
    {
        errors->Enable();
        for (size_t i = 0; i < RAMP_RTTS.size(); ++i)
        {
            Simulator::Schedule(Seconds(RAMP_RTTS[i] * rtt), &RampFlow::Note, this, i);
        }
    }

    void Note(size_t i)
    {
        bytesAt[i] = static_cast<double>(counts.deliveredB);
    }
};

} // namespace

int
main(int argc, char* argv[])
{
    std::string cc = "cubic";
    double rttMs = 100;
    double loss = 0.01;
    double rate = 100e6;
    uint32_t buffer = 10000;
    double duration = 300;
    double warmup = 60;
    uint32_t seed = 1;
    CommandLine line;
    line.AddValue("cc", "newreno, linuxreno or cubic", cc);
    line.AddValue("rtt", "propagation both ways, ms", rttMs);
    line.AddValue("loss", "probability that a packet to the receiver is lost", loss);
    line.AddValue("rate", "of the link, bit/s", rate);
    line.AddValue("buffer", "packets waiting at the link at most", buffer);
    line.AddValue("duration", "of the run, s", duration);
    line.AddValue("warmup", "at its start, not counted in the goodput, s", warmup);
    line.AddValue("seed", "of the losses", seed);
    line.Parse(argc, argv);
    if (duration <= warmup)
    {
        Refuse("the run must be longer than its warm-up");
    }

    if (warmup == 0)
    {
        // A ramp: every cell of its grid has losses of its own, since the same for all would make one draw of the grid.
        const std::string cell =
            cc + " " + std::to_string(rttMs) + " " + std::to_string(loss) + " " + std::to_string(rate);
        RngSeedManager::SetSeed(Hash32(cell) % 4000000000u + 1);
    }
    RngSeedManager::SetRun(seed);
    UseHostDefaults();
    Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue(std::to_string(buffer) + "p"));

    NodeContainer hosts(2);
    PointToPointHelper link;
    link.DisableFlowControl(); // no queue but the device's
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(rttMs / 2e3)));
    const NetDeviceContainer devices = link.Install(hosts);
    InternetStackHelper().Install(hosts);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    const auto errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(loss);
    errors->Disable();
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));

    RampFlow flow(hosts.Get(0), hosts.Get(1), interfaces.GetAddress(1), PORT, CongestionControl(cc));
    flow.rtt = rttMs / 1e3;
    flow.errors = errors;
    Simulator::ScheduleNow(&RampFlow::Open, &flow);

    Simulator::Stop(Seconds(warmup));
    Simulator::Run();
    const Counts before = flow.counts;
    Simulator::Stop(Seconds(duration - warmup));
    Simulator::Run();
    const Counts counted = flow.counts.Since(before);

    Row row;
    row.Add("goodput_bps", 8 * static_cast<double>(counted.deliveredB) / (duration - warmup));
    row.Add("segments", static_cast<double>(counted.segments));
    row.Add("retransmitted_segments", static_cast<double>(counted.retransmitted));
    row.Add("timeouts", static_cast<double>(counted.timeouts));
    row.Add("recoveries", static_cast<double>(counted.recoveries));
    for (size_t i = 0; i < RAMP_RTTS.size(); ++i)
    {
        std::ostringstream name;
        name << "bytes_" << RAMP_RTTS[i] << "rtt";
        row.Add(name.str(), flow.bytesAt[i]);
    }
    row.Add("cpu_s", UserCpuSeconds());
    std::cout << "{\"run\": " << row.Json() << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
