// ICE-TCP (RFC 6544): frames (RFC 4571) in pieces over real connections through TcpServer, TcpConnection and WebRtcServer.
#include "listening.hpp"
#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace
{
	using Bytes = std::vector<uint8_t>;

	class Client
	{
	public:
		~Client()
		{
			Reset();
		}

		void Connect(const struct sockaddr* address)
		{
			Reset();
			this->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
			(void)connect(this->fd, address, sizeof(struct sockaddr_in));
		}

		void Send(const struct sockaddr* address, const Bytes& bytes)
		{
			if (this->fd < 0)
			{
				Connect(address);
			}

			// What the kernel does not take at once is lost, as is what the other side has closed for.
			(void)send(this->fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
		}

		void Drain()
		{
			uint8_t buffer[4096];

			while (this->fd >= 0 && recv(this->fd, buffer, sizeof(buffer), 0) > 0)
			{
				// It is not read.
			}
		}

		void Finish()
		{
			if (this->fd >= 0)
			{
				shutdown(this->fd, SHUT_WR);
			}
		}

		/** Closes without the TIME_WAIT that would use up ports. */
		void Reset()
		{
			if (this->fd < 0)
			{
				return;
			}

			const struct linger none{ 1, 0 };

			setsockopt(this->fd, SOL_SOCKET, SO_LINGER, std::addressof(none), sizeof(none));
			close(this->fd);
			this->fd = -1;
		}

	private:
		int fd{ -1 };
	};

	Bytes framed(const Bytes& packet)
	{
		Bytes frame{ uint8_t(packet.size() >> 8), uint8_t(packet.size()) };

		frame.insert(frame.end(), packet.begin(), packet.end());

		return frame;
	}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t len)
{
	Fuzz::Begin();

	const auto input = Fuzz::Parse(data, len);
	Fuzz::Listening listening;
	const auto* address = listening.GetTcpAddress();
	std::array<Client, 8> clients;

	for (const auto& step : input.steps)
	{
		const auto& bytes     = step.bytes;
		const uint8_t choice = Fuzz::Number(bytes, 1);
		auto& client         = clients[choice % clients.size()];
		const size_t guest   = choice >> 7;
		const Bytes rest(bytes.begin() + (bytes.empty() ? 0 : 1), bytes.end());

		switch (step.kind % 16)
		{
			case 1:
				listening.room.shared.Advance(Fuzz::Number(bytes));
				break;
			case 2:
				client.Send(address, rest);
				break;
			case 3:
				client.Finish();
				break;
			case 4:
				client.Reset();
				break;
			case 5:
				client.Connect(address);
				break;
			case 6:
				listening.ConnectDtls(guest, (choice & 8) != 0);
				break;
			case 7:
				listening.Replace(guest);
				break;
			case 8:
				// A frame as long as it says, of one byte again and again.
				client.Send(address, framed(Bytes(Fuzz::Number(rest), rest.size() > 2 ? rest[2] : 0)));
				break;
			case 9:
			case 10:
				client.Send(address, framed(rest));
				break;
			case 11:
				listening.RestartIce(guest);
				break;
			case 12:
			{
				// In two pieces.
				const auto frame = framed(listening.Authentic(guest, 0x0001, Bytes(rest.begin() + (rest.empty() ? 0 : 1), rest.end())));
				const auto at    = std::min<size_t>(frame.size(), Fuzz::Number(rest, 1));

				client.Send(address, { frame.begin(), frame.begin() + at });
				Fuzz::RunLoop();
				client.Send(address, { frame.begin() + at, frame.end() });
				break;
			}
			default:
				client.Send(address, framed(listening.Authentic(guest, 0x0001, rest)));
		}

		// To connect, to accept and to read.
		Fuzz::RunLoop();
		Fuzz::RunLoop();
		listening.CheckFaults();
		client.Drain();
	}

	return 0;
}
