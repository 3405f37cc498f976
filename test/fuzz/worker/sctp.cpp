// An SCTP association in all of its states, with chunks that have its tags, numbers and checksum right.
#include "RTC/SCTP/packet/Packet.hpp"
#include "FBS/dataConsumer.h"
#include "Utils.hpp"
#include "room.hpp"

namespace
{
	using Bytes = std::vector<uint8_t>;

	constexpr size_t HeaderLength{ 12 };
	constexpr uint32_t OwnTag{ 0x11223344 };
	constexpr uint32_t OwnTsn{ 1000 };
	constexpr size_t MaxPacket{ 65535 };

	uint32_t get32(const Bytes& bytes, size_t at)
	{
		return at + 4 <= bytes.size() ? Utils::Byte::Get4Bytes(bytes.data(), at) : 0;
	}

	void set32(Bytes& bytes, size_t at, uint32_t value)
	{
		if (at + 4 <= bytes.size())
		{
			Utils::Byte::Set4Bytes(bytes.data(), at, value);
		}
	}

	Bytes chunk(uint8_t type, uint8_t flags, Bytes value)
	{
		const size_t length = 4 + value.size();
		Bytes made{ type, flags, uint8_t(length >> 8), uint8_t(length) };

		value.resize((value.size() + 3) & ~size_t{ 3 });
		made.insert(made.end(), value.begin(), value.end());

		return made;
	}

	Bytes initValue(const Bytes& parameters)
	{
		Bytes value(16);

		set32(value, 0, OwnTag);
		set32(value, 4, 131072);
		set32(value, 8, 0x04000400);
		set32(value, 12, OwnTsn);
		value.insert(value.end(), parameters.begin(), parameters.end());

		return value;
	}

	/** The remote: what an honest one would know. */
	class Peer
	{
	public:
		explicit Peer(Fuzz::Transport* transport) : transport(transport)
		{
		}

		void Send(uint32_t tag, const Bytes& chunks)
		{
			Bytes packet{ 0x13, 0x88, 0x13, 0x88 };

			packet.resize(HeaderLength);
			set32(packet, 4, tag);
			packet.insert(packet.end(), chunks.begin(), chunks.end());
			SendWithChecksum(packet);
		}

		void SendWithChecksum(Bytes packet)
		{
			packet.resize(std::min(packet.size(), MaxPacket));
			set32(packet, 8, 0);

			if (packet.size() >= HeaderLength)
			{
				set32(packet, 8, Utils::Crypto::GetCRC32c(packet.data(), packet.size()));
			}

			SendRaw(packet);
		}

		void SendRaw(const Bytes& packet)
		{
			Fuzz::Contain([&]() { this->transport->ReceiveSctp(packet); });
			Learn();
		}

		/** Takes tag, first TSN, cookie and newest TSN from what the association has sent since. */
		void Learn()
		{
			for (; this->learned < this->transport->sentSctp.size(); ++this->learned)
			{
				const auto& packet = this->transport->sentSctp[this->learned];

				for (size_t at{ HeaderLength }; at + 4 <= packet.size();)
				{
					const size_t length = Utils::Byte::Get2Bytes(packet.data(), at + 2);

					if (length < 4)
					{
						break;
					}

					LearnChunk({ packet.begin() + at, packet.begin() + std::min(at + length, packet.size()) });
					at += (length + 3) & ~size_t{ 3 };
				}
			}
		}

	private:
		void LearnChunk(const Bytes& bytes)
		{
			switch (bytes[0])
			{
				case 0:
				case 64:
					this->newestTsn = get32(bytes, 4);
					break;
				// INIT and INIT ACK.
				case 1:
				case 2:
					this->tag       = get32(bytes, 4);
					this->firstTsn  = get32(bytes, 16);
					this->newestTsn = this->firstTsn - 1;

					for (size_t at{ 20 }; at + 4 <= bytes.size();)
					{
						const size_t length = Utils::Byte::Get2Bytes(bytes.data(), at + 2);

						if (length < 4)
						{
							break;
						}

						if (Utils::Byte::Get2Bytes(bytes.data(), at) == 7)
						{
							this->cookie = { bytes.begin() + at + 4, bytes.begin() + std::min(at + length, bytes.size()) };
						}

						at += (length + 3) & ~size_t{ 3 };
					}

					break;
				default:;
			}
		}

	public:
		uint32_t tag{ 0 };
		uint32_t firstTsn{ 0 };
		uint32_t newestTsn{ 0 };
		Bytes cookie;

	private:
		Fuzz::Transport* transport;
		size_t learned{ 0 };
	};

	/** A chunk of a step: type, flags, value. Numbers that count what the association sent are made relative to it. */
	Bytes chunkOf(const Peer& peer, const Bytes& bytes)
	{
		if (bytes.size() < 2)
		{
			return {};
		}

		Bytes value{ bytes.begin() + 2, bytes.end() };

		switch (bytes[0])
		{
			// SACK and SHUTDOWN acknowledge.
			case 3:
			case 7:
				set32(value, 0, get32(value, 0) + peer.newestTsn);
				break;
			// RE-CONFIG (RFC 6525): a response names the request, a request our own last response.
			case 130:
				for (size_t at{ 0 }; at + 4 <= value.size();)
				{
					const auto type     = Utils::Byte::Get2Bytes(value.data(), at);
					const size_t length = Utils::Byte::Get2Bytes(value.data(), at + 2);

					if (type == 16)
					{
						set32(value, at + 4, get32(value, at + 4) + peer.firstTsn);
					}
					else if (type == 13)
					{
						set32(value, at + 8, get32(value, at + 8) + peer.firstTsn);
					}

					if (length < 4)
					{
						break;
					}

					at += (length + 3) & ~size_t{ 3 };
				}

				break;
			default:;
		}

		return chunk(bytes[0], bytes[1], value);
	}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t len)
{
	Fuzz::Begin();

	const auto input = Fuzz::Parse(data, len);
	Fuzz::Room room;
	auto guest = room.CreateTransport("guest", Fuzz::Transport::Kind::GUEST, /*sctp*/ true);
	Peer peer(guest.get());
	Bytes bundle;

	// What a guest says on stream 0 comes back to it on stream 1.
	room.OpenDataChannel(guest.get(), 0, 1);

	for (const auto& step : input.steps)
	{
		const auto& bytes = step.bytes;

		switch (step.kind % 16)
		{
			case 1:
			{
				const auto made = chunkOf(peer, bytes);

				bundle.insert(bundle.end(), made.begin(), made.end());
				break;
			}
			case 2:
				room.shared.Advance(Fuzz::Number(bytes));
				break;
			case 3:
				peer.SendWithChecksum(bytes);
				break;
			case 4:
				peer.SendRaw(bytes);
				break;
			case 5:
			{
				auto cookie = peer.cookie;

				if (bytes.size() > 1 && !cookie.empty())
				{
					cookie[bytes[0] % cookie.size()] ^= bytes[1];
				}

				peer.Send(peer.tag, chunk(10, 0, cookie));
				break;
			}
			case 6:
				peer.Send(0, chunk(1, 0, initValue(bytes)));
				break;
			case 7:
				room.SendData(Fuzz::Number(bytes) % 40000);
				break;
			case 8:
				room.CloseDataChannel(guest.get());
				break;
			case 9:
				peer.Send(0, chunk(1, 0, initValue(bytes)));
				peer.Send(peer.tag, chunk(10, 0, peer.cookie));
				break;
			case 10:
				if (!guest->sentSctp.empty())
				{
					peer.SendRaw(Bytes(guest->sentSctp[Fuzz::Number(bytes, 1) % guest->sentSctp.size()]));
				}
				break;
			case 11:
			{
				// INIT ACK with a cookie of ours.
				auto value = initValue(bytes);

				value.insert(value.end(), { 0, 7, 0, 8, 1, 2, 3, 4 });
				peer.Send(OwnTag, chunk(2, 0, value));
				peer.Send(peer.tag, chunk(2, 0, value));
				break;
			}
			case 12:
				room.OpenDataChannel(guest.get(), Fuzz::Number(bytes), Fuzz::Number(bytes) + 1);
				break;
			case 13:
			{
				// Acknowledges everything.
				Bytes value(12);

				set32(value, 0, peer.newestTsn);
				set32(value, 4, 131072);
				peer.Send(peer.tag, chunk(3, 0, value));
				break;
			}
			default:
			{
				const auto made = chunkOf(peer, bytes);

				bundle.insert(bundle.end(), made.begin(), made.end());
				peer.Send(peer.tag, bundle);
				bundle.clear();
			}
		}

		peer.Learn();
	}

	return 0;
}
