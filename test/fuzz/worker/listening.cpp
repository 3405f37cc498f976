#include "listening.hpp"
#include "DepLibUV.hpp"
#include "FBS/router.h"
#include "FBS/webRtcTransport.h"
#include "Utils.hpp"
#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <unistd.h>

namespace
{
	constexpr size_t ReadBufferSize{ 65536 };
	constexpr size_t StunHeaderLength{ 20 };
	constexpr uint32_t MagicCookie{ 0x2112a442 };
	alignas(4) uint8_t readBuffer[ReadBufferSize];

	void append(std::vector<uint8_t>& message, uint16_t type, const uint8_t* value, size_t len)
	{
		message.insert(message.end(), { uint8_t(type >> 8), uint8_t(type), uint8_t(len >> 8), uint8_t(len) });
		message.insert(message.end(), value, value + len);
		message.resize((message.size() + 3) & ~size_t{ 3 });
	}

	/** The length of what follows the header, with `more` bytes that are still to come. */
	void setLength(std::vector<uint8_t>& message, size_t more)
	{
		Utils::Byte::Set2Bytes(message.data(), 2, message.size() + more - StunHeaderLength);
	}

	/** An address of loopback that is this process's own: several may run at once. */
	std::string ownAddress()
	{
		const auto pid = static_cast<uint32_t>(getpid());

		return "127." + std::to_string(16 + (pid >> 16) % 64) + "." + std::to_string((pid >> 8) & 255) + "." + std::to_string(pid & 255);
	}
} // namespace

namespace Fuzz
{
	std::vector<uint8_t> WithFingerprint(std::vector<uint8_t> message)
	{
		if (message.size() < StunHeaderLength)
		{
			return message;
		}

		message.resize((message.size() + 3) & ~size_t{ 3 });
		setLength(message, 8);

		uint8_t value[4];

		Utils::Byte::Set4Bytes(value, 0, Utils::Crypto::GetCRC32(message.data(), message.size()) ^ 0x5354554e);
		append(message, 0x8028, value, sizeof(value));

		return message;
	}

	Listening::Listening()
	{
		flatbuffers::FlatBufferBuilder builder;
		const auto ip    = ownAddress();
		const auto range = FBS::Transport::CreatePortRange(builder, 20000, 30000);
		const auto flags = FBS::Transport::CreateSocketFlags(builder);
		const std::vector<flatbuffers::Offset<FBS::Transport::ListenInfo>> infos{
			FBS::Transport::CreateListenInfoDirect(builder, FBS::Transport::Protocol::UDP, ip.c_str(), nullptr, false, 0, range, flags),
			FBS::Transport::CreateListenInfoDirect(builder, FBS::Transport::Protocol::TCP, ip.c_str(), nullptr, false, 0, range, flags),
		};
		const auto request = FBS::Worker::CreateCreateWebRtcServerRequestDirect(builder, "server", &infos);

		builder.Finish(request);
		this->server = std::make_unique<RTC::WebRtcServer>(
		  std::addressof(this->room.shared),
		  "server",
		  flatbuffers::GetRoot<FBS::Worker::CreateWebRtcServerRequest>(builder.GetBufferPointer())->listenInfos());
		this->room.webRtcServer = this->server.get();
		CreateTransport("guest-0");
		CreateTransport("guest-1");
	}

	Listening::~Listening()
	{
		this->server.reset();
		// Sockets close in the loop.
		RunLoop();
		RunLoop();
	}

	void Listening::CreateTransport(const std::string& id)
	{
		flatbuffers::FlatBufferBuilder builder;
		const auto base    = FBS::Transport::CreateOptions(builder, false, 600000);
		const auto listen  = FBS::WebRtcTransport::CreateListenServerDirect(builder, "server");
		const auto options = FBS::WebRtcTransport::CreateWebRtcTransportOptions(
		  builder, base, FBS::WebRtcTransport::Listen::ListenServer, listen.Union());

		if (!this->room.shared.Request(
		      std::addressof(this->room.router),
		      "router",
		      Channel::ChannelRequest::Method::ROUTER_CREATE_WEBRTCTRANSPORT_WITH_SERVER,
		      FBS::Request::Body::Router_CreateWebRtcTransportRequest,
		      builder,
		      FBS::Router::CreateCreateWebRtcTransportRequestDirect(builder, id.c_str(), options)))
		{
			std::abort();
		}
	}

	RTC::WebRtcTransport* Listening::GetTransport(size_t guest)
	{
		// NOTE: It is private; targets are compiled with -fno-access-control.
		return static_cast<RTC::WebRtcTransport*>(this->room.router.mapTransports.at("guest-" + std::to_string(guest % 2)));
	}

	const struct sockaddr* Listening::GetTcpAddress()
	{
		return reinterpret_cast<const struct sockaddr*>(
		  std::addressof(this->server->udpSocketOrTcpServers[1].tcpServer->localAddr));
	}

	void Listening::ReceiveUdp(uint16_t port, const std::vector<uint8_t>& packet)
	{
		struct sockaddr_in address{};

		address.sin_family      = AF_INET;
		address.sin_port        = htons(port);
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		std::memset(readBuffer, 0xa5, sizeof(readBuffer));
		std::copy_n(packet.begin(), std::min(packet.size(), sizeof(readBuffer)), readBuffer);
		Contain(
		  [&]()
		  {
			  this->server->udpSocketOrTcpServers[0].udpSocket->UserOnUdpDatagramReceived(
			    readBuffer,
			    std::min(packet.size(), sizeof(readBuffer)),
			    sizeof(readBuffer),
			    reinterpret_cast<const struct sockaddr*>(std::addressof(address)));
		  });
		CheckFaults();
	}

	std::vector<uint8_t> Listening::Authentic(size_t guest, uint16_t type, const std::vector<uint8_t>& attributes)
	{
		const auto* iceServer = GetTransport(guest)->iceServer;
		const auto username   = iceServer->GetUsernameFragment() + ":fuzz";
		const auto& password  = iceServer->GetPassword();
		std::vector<uint8_t> message(StunHeaderLength);

		Utils::Byte::Set2Bytes(message.data(), 0, type);
		Utils::Byte::Set4Bytes(message.data(), 4, MagicCookie);
		append(message, 0x0006, reinterpret_cast<const uint8_t*>(username.data()), username.size());
		message.insert(message.end(), attributes.begin(), attributes.begin() + std::min<size_t>(attributes.size(), 1400));
		message.resize((message.size() + 3) & ~size_t{ 3 });
		setLength(message, 24);
		append(message, 0x0008, Utils::Crypto::GetHmacSha1(password.data(), password.size(), message.data(), message.size()), 20);

		return WithFingerprint(message);
	}

	void Listening::RestartIce(size_t guest)
	{
		this->room.shared.Request(GetTransport(guest), GetTransport(guest)->id, Channel::ChannelRequest::Method::TRANSPORT_RESTART_ICE);
	}

	void Listening::ConnectDtls(size_t guest, bool client)
	{
		flatbuffers::FlatBufferBuilder builder;
		std::string value("00");

		for (int count{ 1 }; count < 32; ++count)
		{
			value += ":00";
		}

		const std::vector<flatbuffers::Offset<FBS::WebRtcTransport::Fingerprint>> fingerprints{
			FBS::WebRtcTransport::CreateFingerprintDirect(builder, FBS::WebRtcTransport::FingerprintAlgorithm::SHA256, value.c_str())
		};
		const auto role       = client ? FBS::WebRtcTransport::DtlsRole::CLIENT : FBS::WebRtcTransport::DtlsRole::SERVER;
		const auto parameters = FBS::WebRtcTransport::CreateDtlsParametersDirect(builder, &fingerprints, role);

		this->room.shared.Request(
		  GetTransport(guest),
		  GetTransport(guest)->id,
		  Channel::ChannelRequest::Method::WEBRTCTRANSPORT_CONNECT,
		  FBS::Request::Body::WebRtcTransport_ConnectRequest,
		  builder,
		  FBS::WebRtcTransport::CreateConnectRequest(builder, parameters));
	}

	void Listening::Replace(size_t guest)
	{
		flatbuffers::FlatBufferBuilder builder;
		const std::string id = GetTransport(guest)->id;

		this->room.shared.Request(
		  std::addressof(this->room.router),
		  "router",
		  Channel::ChannelRequest::Method::ROUTER_CLOSE_TRANSPORT,
		  FBS::Request::Body::Router_CloseTransportRequest,
		  builder,
		  FBS::Router::CreateCloseTransportRequestDirect(builder, id.c_str()));
		CreateTransport(id);
	}

	void Listening::Dump(size_t guest)
	{
		for (const auto method : { Channel::ChannelRequest::Method::TRANSPORT_DUMP, Channel::ChannelRequest::Method::TRANSPORT_GET_STATS })
		{
			this->room.shared.Request(GetTransport(guest), GetTransport(guest)->id, method);
		}
	}

	void Listening::CheckFaults()
	{
		for (const size_t guest : { 0, 1 })
		{
			if (GetTransport(guest)->faulty)
			{
				Contain([]() { throw std::runtime_error("a transport is faulty"); });
				Replace(guest);
			}
		}
	}
} // namespace Fuzz
