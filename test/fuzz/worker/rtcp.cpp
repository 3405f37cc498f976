// RTCP packets, alone and compound, into the handlers of a transport that sends and of one that receives, while media flows.
#include "room.hpp"

namespace
{
	/** NACK (RFC 4585, section 6.2.1) of what was sent `age` packets ago, which only who got it can ask for. */
	std::vector<uint8_t> nack(uint32_t ssrc, uint16_t newest, const std::vector<uint8_t>& ages)
	{
		std::vector<uint8_t> packet{ 0x81, 205, 0, 2, 0, 0, 0, 1 };

		for (const int shift : { 24, 16, 8, 0 })
		{
			packet.push_back(ssrc >> shift);
		}

		for (size_t at{ 0 }; at + 3 <= ages.size() && packet.size() < 1200; at += 3)
		{
			const uint16_t seq = newest - ages[at];

			packet.insert(packet.end(), { uint8_t(seq >> 8), uint8_t(seq), ages[at + 1], ages[at + 2] });
		}

		packet[3] = packet.size() / 4 - 1;

		return packet;
	}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t len)
{
	Fuzz::Begin();

	const auto input = Fuzz::Parse(data, len);
	Fuzz::Call call(input.choice);

	call.room.Talk(call.publisher.get(), 4);

	for (const auto& step : input.steps)
	{
		const auto& bytes = step.bytes;

		switch (step.kind % 16)
		{
			case 1:
				call.room.shared.Advance(Fuzz::Number(bytes) % 5000);
				break;
			case 2:
				call.room.Manage(bytes);
				break;
			case 3:
				call.room.Talk(call.publisher.get(), 1 + Fuzz::Number(bytes, 1) % 8);
				break;
			case 4:
				Fuzz::Contain([&]() { call.pipe->ReceiveRtcp(bytes); });
				break;
			case 5:
			{
				for (const auto& [ssrc, seq] : std::map(call.listener->newestSeqs))
				{
					const auto packet = nack(ssrc, seq, bytes);

					Fuzz::Contain([&]() { call.listener->ReceiveRtcp(packet); });
				}

				break;
			}
			case 6:
			case 7:
			case 8:
			case 9:
			case 10:
				Fuzz::Contain([&]() { call.publisher->ReceiveRtcp(bytes); });
				break;
			default:
				Fuzz::Contain([&]() { call.listener->ReceiveRtcp(bytes); });
		}
	}

	return 0;
}
