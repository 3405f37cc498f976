// STUN and DTLS over UDP through WebRtcServer, WebRtcTransport and IceServer: authentic, wrong and restarted.
#include "listening.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t len)
{
	Fuzz::Begin();

	const auto input = Fuzz::Parse(data, len);
	Fuzz::Listening listening;

	for (const auto& step : input.steps)
	{
		const auto& bytes     = step.bytes;
		// Where it comes from and whom it is for.
		const uint8_t choice = Fuzz::Number(bytes, 1);
		const uint16_t port  = 10000 + choice % 64;
		const size_t guest   = choice >> 7;
		const std::vector<uint8_t> rest(bytes.begin() + (bytes.empty() ? 0 : 1), bytes.end());

		switch (step.kind % 16)
		{
			case 1:
				listening.room.shared.Advance(Fuzz::Number(bytes));
				break;
			case 2:
				// Any type of message.
				listening.ReceiveUdp(
				  port,
				  listening.Authentic(guest, Fuzz::Number(rest), { rest.begin() + std::min<size_t>(rest.size(), 2), rest.end() }));
				break;
			case 3:
				listening.ReceiveUdp(port, rest);
				break;
			case 4:
				listening.ReceiveUdp(port, Fuzz::WithFingerprint(rest));
				break;
			case 5:
				listening.RestartIce(guest);
				break;
			case 6:
				listening.ConnectDtls(guest, (choice & 1) != 0);
				break;
			case 7:
				listening.Replace(guest);
				break;
			case 8:
				listening.Dump(guest);
				break;
			default:
				listening.ReceiveUdp(port, listening.Authentic(guest, 0x0001, rest));
		}

		Fuzz::RunLoop();
	}

	return 0;
}
