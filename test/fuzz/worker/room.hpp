#ifndef MEDIAROOMS_FUZZ_ROOM_HPP
#define MEDIAROOMS_FUZZ_ROOM_HPP

// A router with a guest who publishes, one who listens and a far node: real ones but for the transports' ends, where SRTP and DTLS would be.

#include "RTC/Router.hpp"
#include "RTC/Transport.hpp"
#include "harness.hpp"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace Fuzz
{
	/** What a WebRtcTransport is without ICE, DTLS and SRTP: it takes what they let through, and keeps of what it sends the SCTP packets. */
	class Transport : public RTC::Transport
	{
	public:
		enum class Kind : uint8_t
		{
			GUEST,
			PIPE
		};

	public:
		Transport(Fuzz::Shared* shared, const std::string& id, RTC::Router* router, const FBS::Transport::Options* options, Kind kind);
		~Transport() override;

	public:
		void ReceiveRtp(const std::vector<uint8_t>& packet);
		void ReceiveRtcp(const std::vector<uint8_t>& packet);
		void ReceiveSctp(const std::vector<uint8_t>& packet);
		void Connect();

		/* Pure virtual methods inherited from RTC::Transport. */
	private:
		bool IsConnected() const override
		{
			return true;
		}
		bool IsPipe() const override
		{
			return this->kind == Kind::PIPE;
		}
		void SendRtpPacket(RTC::Consumer* consumer, RTC::RTP::Packet* packet, const onSendCallback* cb) override;
		void SendRtcpPacket(RTC::RTCP::Packet* packet) override;
		void SendRtcpCompoundPacket(RTC::RTCP::CompoundPacket* packet) override;
		void SendMessage(RTC::DataConsumer* dataConsumer, RTC::SCTP::Message message, onQueuedCallback* cb) override;
		bool SendData(const uint8_t* data, size_t len) override;
		void RecvStreamClosed(uint32_t /*ssrc*/) override
		{
		}
		void SendStreamClosed(uint32_t /*ssrc*/) override
		{
		}

	public:
		std::vector<std::vector<uint8_t>> sentSctp;
		// Sequence number of the last packet of each source that was sent.
		std::map<uint32_t, uint16_t> newestSeqs;

	private:
		Kind kind;
	};

	class Room : public RTC::Router::Listener
	{
	public:
		Room();
		~Room() override;

	public:
		std::unique_ptr<Transport> CreateTransport(const std::string& id, Transport::Kind kind, bool sctp = false);
		/** Publishes one codec (of 240 or more: all of them) over `from`, and has it forwarded to `to` and to `pipe`. */
		void Publish(uint8_t choice, Transport* from, Transport* to, Transport* pipe);
		/** Has a publisher send honest packets, `count` of each of its sources. */
		void Talk(Transport* from, size_t count);
		/** A data channel by which a guest hears what it says. It replaces the one before. */
		void OpenDataChannel(Transport* guest, uint16_t inboundStreamId, uint16_t outboundStreamId);
		void CloseDataChannel(Transport* guest);
		void SendData(size_t size);
		/** Pauses, resumes, asks for key frames and layers, reads statistics. */
		void Manage(const std::vector<uint8_t>& choice);

		/* Pure virtual methods inherited from RTC::Router::Listener. */
	public:
		RTC::WebRtcServer* OnRouterNeedWebRtcServer(const RTC::Router* /*router*/, const std::string& /*id*/) override
		{
			return this->webRtcServer;
		}

	public:
		Shared shared;
		RTC::Router router;
		RTC::WebRtcServer* webRtcServer{ nullptr };
		std::vector<std::string> producerIds;
		std::vector<std::string> consumerIds;

	private:
		std::vector<size_t> published;
		uint16_t talked{ 0 };
	};

	/** A room in which a guest publishes what an input chooses, forwarded to another guest and to a far node. */
	struct Call
	{
		explicit Call(uint8_t choice);

		Room room;
		std::unique_ptr<Transport> publisher;
		std::unique_ptr<Transport> listener;
		std::unique_ptr<Transport> pipe;
	};
} // namespace Fuzz

#endif
