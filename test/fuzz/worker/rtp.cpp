// RTP packets of a guest through Transport, Producer and the Consumers of a listener and of a far node.
#include "room.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t len)
{
	Fuzz::Begin();

	const auto input = Fuzz::Parse(data, len);
	Fuzz::Call call(input.choice);

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
				Fuzz::Contain([&]() { call.listener->ReceiveRtcp(bytes); });
				break;
			case 4:
				Fuzz::Contain([&]() { call.publisher->ReceiveRtcp(bytes); });
				break;
			default:
				Fuzz::Contain([&]() { call.publisher->ReceiveRtp(bytes); });
				// As often as packets of sound come.
				call.room.shared.Advance(20);
		}
	}

	return 0;
}
