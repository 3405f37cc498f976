// RTP packets of a guest through Transport, Producer and the Consumers of a listener and of a far node.
#include "room.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t len)
{
	Fuzz::Begin();

	const auto input = Fuzz::Parse(data, len);
	Fuzz::Room room;
	auto publisher = room.CreateTransport("publisher", Fuzz::Transport::Kind::GUEST);
	auto listener  = room.CreateTransport("listener", Fuzz::Transport::Kind::GUEST);
	auto pipe      = room.CreateTransport("pipe", Fuzz::Transport::Kind::PIPE);

	room.Publish(input.choice, publisher.get(), listener.get(), pipe.get());

	for (const auto& step : input.steps)
	{
		const auto& bytes = step.bytes;

		switch (step.kind % 16)
		{
			case 1:
				room.shared.Advance(Fuzz::Number(bytes) % 5000);
				break;
			case 2:
				room.Manage(bytes);
				break;
			case 3:
				Fuzz::Contain([&]() { listener->ReceiveRtcp(bytes); });
				break;
			case 4:
				Fuzz::Contain([&]() { publisher->ReceiveRtcp(bytes); });
				break;
			default:
				Fuzz::Contain([&]() { publisher->ReceiveRtp(bytes); });
				// As often as packets of sound come.
				room.shared.Advance(20);
		}
	}

	return 0;
}
