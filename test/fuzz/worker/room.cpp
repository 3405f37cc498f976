#include "room.hpp"
#include "FBS/consumer.h"
#include "FBS/dataConsumer.h"
#include "FBS/router.h"
#include "FBS/rtpObserver.h"
#include "FBS/transport.h"
#include "RTC/Consts.hpp"
#include "RTC/RTCP/CompoundPacket.hpp"
#include "RTC/RTP/Packet.hpp"
#include "RTC/RtpDictionaries.hpp"
#include "Utils.hpp"
#include <cstring>
#include <numeric>

namespace
{
	// As in UdpSocketHandle.
	constexpr size_t ReadBufferSize{ 65536 };
	alignas(4) thread_local uint8_t ReadBuffer[ReadBufferSize];

	using Uri  = RTC::RtpHeaderExtensionUri::Type;
	using Type = FBS::RtpParameters::Type;

	// The choice from which on there is each codec.
	constexpr uint8_t All{ 240 };
	// Never read: it makes the sanitizer inspect each byte that would be sent.
	volatile uint8_t looked;

	void look(const uint8_t* data, size_t len)
	{
		looked = std::accumulate(data, data + len, uint8_t{ 0 });
	}

	struct Publication
	{
		const char* mimeType;
		uint8_t payloadType;
		Type type;
		// One for each layer of simulcast; zero if its RID identifies it.
		std::vector<uint32_t> ssrcs;
		const char* scalabilityMode;
		// Payload of a packet that begins a key frame (RFC 7741, RFC 9628, RFC 6184, AV1 RTP specification).
		std::vector<uint8_t> payload;
	};

	const std::vector<uint8_t> opus{ 0x78, 0x11, 0x11, 0x11 };
	const std::vector<uint8_t> vp8{ 0x90, 0xe0, 0x80, 0x01, 0x42, 0x00, 0x10, 0x02, 0x0a, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00 };
	const std::vector<uint8_t> vp9{ 0xae, 0x80, 0x0a, 0x00, 0x01, 0x18, 0x01, 0x40, 0x00, 0xf0, 0x01, 0x04, 0x02, 0x02 };
	const std::vector<uint8_t> h264{ 0x67, 0x42, 0xe0, 0x1f, 0x95, 0xa0, 0x14, 0x01, 0x6e, 0x40 };
	const std::vector<uint8_t> av1{ 0x18, 0x0a, 0x0b, 0x00, 0x00, 0x00, 0x04, 0x3c, 0xff };

	const std::vector<Publication>& publications()
	{
		static const std::vector<Publication> all{
			{ "audio/opus", 111, Type::SIMPLE, { 1001 }, "S1T1", opus },
			{ "video/VP8", 96, Type::SIMPLE, { 1002 }, "S1T1", vp8 },
			{ "video/VP9", 98, Type::SVC, { 1003 }, "L3T3_KEY", vp9 },
			{ "video/H264", 102, Type::SIMPLE, { 1004 }, "S1T1", h264 },
			{ "video/AV1", 104, Type::SVC, { 1005 }, "L3T3", av1 },
			{ "video/VP8", 106, Type::SIMULCAST, { 1011, 1012, 1013 }, "S1T3", vp8 },
			{ "video/H264", 108, Type::SIMULCAST, { 0, 0 }, "S1T3", h264 },
			{ "video/VP8", 110, Type::SVC, { 1031 }, "L1T3", vp8 },
			{ "video/H264", 112, Type::SVC, { 1041 }, "L1T3", h264 },
		};

		return all;
	}

	/** As the router maps them: an extension's id is its place in the list of URIs. */
	std::vector<RTC::RtpHeaderExtensionParameters> headerExtensions(bool mapped)
	{
		// Ids of test/kit/hostile/packet-samples.ts, above 14 two-byte headers are needed.
		static const std::vector<std::pair<Uri, uint8_t>> ids{
			{ Uri::MID, 1 },
			{ Uri::RTP_STREAM_ID, 2 },
			{ Uri::REPAIRED_RTP_STREAM_ID, 3 },
			{ Uri::ABS_SEND_TIME, 4 },
			{ Uri::TRANSPORT_WIDE_CC_01, 5 },
			{ Uri::DEPENDENCY_DESCRIPTOR, 8 },
			{ Uri::SSRC_AUDIO_LEVEL, 10 },
			{ Uri::VIDEO_ORIENTATION, 11 },
			{ Uri::TIME_OFFSET, 12 },
			{ Uri::ABS_CAPTURE_TIME, 13 },
			{ Uri::PLAYOUT_DELAY, 14 },
		};
		std::vector<RTC::RtpHeaderExtensionParameters> made;

		for (const auto& [type, id] : ids)
		{
			RTC::RtpHeaderExtensionParameters extension;

			extension.type = type;
			extension.id   = mapped ? static_cast<uint8_t>(type) : id;
			made.push_back(extension);
		}

		return made;
	}

	RTC::RtpParameters rtpParameters(const Publication& published, const std::string& mid, bool mapped)
	{
		RTC::RtpParameters parameters;
		RTC::RtpCodecParameters codec;
		const bool audio = std::string(published.mimeType).starts_with("audio");

		codec.mimeType.SetMimeType(published.mimeType);
		codec.payloadType = published.payloadType;
		codec.clockRate   = audio ? 48000 : 90000;
		codec.channels    = audio ? 2 : 1;

		for (const auto& [type, parameter] : std::vector<std::pair<const char*, const char*>>{
		       { "nack", "" }, { "nack", "pli" }, { "ccm", "fir" }, { "goog-remb", "" }, { "transport-cc", "" } })
		{
			RTC::RtcpFeedback feedback;

			feedback.type      = type;
			feedback.parameter = parameter;
			codec.rtcpFeedback.push_back(feedback);
		}

		parameters.codecs.push_back(codec);

		if (!audio)
		{
			RTC::RtpCodecParameters rtx;

			rtx.mimeType.SetMimeType("video/rtx");
			rtx.payloadType = published.payloadType + 1;
			rtx.clockRate   = 90000;
			rtx.parameters.mapKeyValues.emplace("apt", RTC::Parameters::Value(int32_t{ published.payloadType }));
			parameters.codecs.push_back(rtx);
		}

		parameters.mid              = mid;
		parameters.headerExtensions = headerExtensions(mapped);
		parameters.rtcp.cname       = "fuzz";

		return parameters;
	}

	RTC::RtpEncodingParameters encoding(uint32_t ssrc, bool rtx, const std::string& scalabilityMode, const std::string& rid = "")
	{
		RTC::RtpEncodingParameters made;

		made.ssrc            = ssrc;
		made.rid             = rid;
		made.hasRtx          = rtx;
		made.rtx.ssrc        = ssrc + 1000;
		made.scalabilityMode = scalabilityMode;

		return made;
	}

	uint32_t mappedSsrc(size_t index, size_t layer)
	{
		return 10000 + index * 10 + layer;
	}

	uint32_t consumedSsrc(size_t index)
	{
		return 20000 + index;
	}
} // namespace

namespace Fuzz
{
	Transport::Transport(
	  Fuzz::Shared* shared, const std::string& id, RTC::Router* router, const FBS::Transport::Options* options, Kind kind)
	  : RTC::Transport(shared, id, router, options, /*requireSctpStateCookieAuthentication*/ false), kind(kind)
	{
	}

	Transport::~Transport()
	{
		CloseProducersAndConsumers();
		SetDestroying();
	}

	void Transport::Connect()
	{
		Connected();
	}

	// What follows is WebRtcTransport::OnPacketReceived() and what it calls, after SRTP.

	void Transport::ReceiveRtp(const std::vector<uint8_t>& bytes)
	{
		if (bytes.size() > RTC::Consts::MtuSize + 100 || !RTC::RTP::Packet::IsRtp(bytes.data(), bytes.size()) || RTC::RTCP::Packet::IsRtcp(bytes.data(), bytes.size()))
		{
			return;
		}

		// What the kernel has not written is what was there before.
		std::memset(ReadBuffer, 0xa5, sizeof(ReadBuffer));
		std::copy(bytes.begin(), bytes.end(), ReadBuffer);
		DataReceived(bytes.size());

		if (auto* packet = RTC::RTP::Packet::Parse(ReadBuffer, bytes.size(), sizeof(ReadBuffer)))
		{
			RTC::Transport::ReceiveRtpPacket(packet, this->shared->GetTimeUs());
		}
	}

	void Transport::ReceiveRtcp(const std::vector<uint8_t>& bytes)
	{
		if (!RTC::RTCP::Packet::IsRtcp(bytes.data(), bytes.size()) || bytes.size() > ReadBufferSize)
		{
			return;
		}

		// NOTE: Not in ReadBuffer: one byte too far is to be seen.
		alignas(4) static thread_local uint8_t buffer[ReadBufferSize];
		uint8_t* begin = buffer + ((ReadBufferSize - bytes.size()) & ~size_t{ 3 });

		std::copy(bytes.begin(), bytes.end(), begin);
		DataReceived(bytes.size());

		if (auto* packet = RTC::RTCP::Packet::Parse(begin, bytes.size()))
		{
			RTC::Transport::ReceiveRtcpPacket(packet, this->shared->GetTimeUs());
		}
	}

	void Transport::ReceiveSctp(const std::vector<uint8_t>& bytes)
	{
		DataReceived(bytes.size());
		RTC::Transport::ReceiveSctpData(bytes.data(), bytes.size(), this->shared->GetTimeUs());
	}

	void Transport::SendRtpPacket(RTC::Consumer* /*consumer*/, RTC::RTP::Packet* packet, const onSendCallback* cb)
	{
		look(packet->GetBuffer(), packet->GetLength());
		this->newestSeqs[packet->GetSsrc()] = packet->GetSequenceNumber();

		if (cb)
		{
			(*cb)(true);
			delete cb;
		}

		DataSent(packet->GetLength());
	}

	void Transport::SendRtcpPacket(RTC::RTCP::Packet* packet)
	{
		look(packet->GetData(), packet->GetSize());
		DataSent(packet->GetSize());
	}

	void Transport::SendRtcpCompoundPacket(RTC::RTCP::CompoundPacket* packet)
	{
		packet->Serialize(RTC::RTCP::SerializationBuffer);
		look(packet->GetData(), packet->GetSize());
		DataSent(packet->GetSize());
	}

	void Transport::SendMessage(RTC::DataConsumer* dataConsumer, RTC::SCTP::Message message, onQueuedCallback* cb)
	{
		SendSctpMessage(dataConsumer, std::move(message), cb);
	}

	bool Transport::SendData(const uint8_t* data, size_t len)
	{
		this->sentSctp.emplace_back(data, data + len);

		return true;
	}

	Room::Room() : router(std::addressof(this->shared), "router", this)
	{
	}

	Room::~Room() = default;

	std::unique_ptr<Transport> Room::CreateTransport(const std::string& id, Transport::Kind kind, bool sctp)
	{
		flatbuffers::FlatBufferBuilder builder;

		// Sizes that mediasoup takes if nothing is said.
		builder.Finish(FBS::Transport::CreateOptions(
		  builder, false, 600000, sctp, 262144, 262144, 2000000, 2000000, 5242880, 0, /*isDataChannel*/ true));

		auto transport = std::make_unique<Transport>(
		  std::addressof(this->shared),
		  id,
		  std::addressof(this->router),
		  flatbuffers::GetRoot<FBS::Transport::Options>(builder.GetBufferPointer()),
		  kind);

		transport->Connect();

		return transport;
	}

	void Room::Publish(uint8_t choice, Transport* from, Transport* to, Transport* pipe)
	{
		{
			flatbuffers::FlatBufferBuilder builder;
			const auto options = FBS::AudioLevelObserver::CreateAudioLevelObserverOptions(builder, 1, -80, 200);

			this->shared.Request(
			  std::addressof(this->router),
			  "router",
			  Channel::ChannelRequest::Method::ROUTER_CREATE_AUDIOLEVELOBSERVER,
			  FBS::Request::Body::Router_CreateAudioLevelObserverRequest,
			  builder,
			  FBS::Router::CreateCreateAudioLevelObserverRequestDirect(builder, "levels", options));
		}
		{
			flatbuffers::FlatBufferBuilder builder;
			const auto options = FBS::ActiveSpeakerObserver::CreateActiveSpeakerObserverOptions(builder, 300);

			this->shared.Request(
			  std::addressof(this->router),
			  "router",
			  Channel::ChannelRequest::Method::ROUTER_CREATE_ACTIVESPEAKEROBSERVER,
			  FBS::Request::Body::Router_CreateActiveSpeakerObserverRequest,
			  builder,
			  FBS::Router::CreateCreateActiveSpeakerObserverRequestDirect(builder, "speaker", options));
		}

		for (size_t index{ 0 }; index < publications().size(); ++index)
		{
			if (choice < All && index != choice % publications().size())
			{
				continue;
			}

			this->published.push_back(index);

			const auto& published = publications()[index];
			const auto mid        = std::to_string(index);
			const bool video      = index > 0;
			const auto kind       = video ? FBS::RtpParameters::MediaKind::VIDEO : FBS::RtpParameters::MediaKind::AUDIO;
			const auto producerId = "producer-" + mid;

			{
				flatbuffers::FlatBufferBuilder builder;
				auto parameters = rtpParameters(published, mid, /*mapped*/ false);
				std::vector<flatbuffers::Offset<FBS::RtpParameters::CodecMapping>> codecs;
				std::vector<flatbuffers::Offset<FBS::RtpParameters::EncodingMapping>> encodings;

				for (const auto& codec : parameters.codecs)
				{
					codecs.push_back(FBS::RtpParameters::CreateCodecMapping(builder, codec.payloadType, codec.payloadType));
				}

				for (size_t layer{ 0 }; layer < published.ssrcs.size(); ++layer)
				{
					const auto ssrc = published.ssrcs[layer];
					const auto rid  = ssrc == 0 ? "r" + std::to_string(layer) : "";

					parameters.encodings.push_back(encoding(ssrc, video && ssrc != 0, published.scalabilityMode, rid));
					encodings.push_back(FBS::RtpParameters::CreateEncodingMappingDirect(
					  builder,
					  rid.empty() ? nullptr : rid.c_str(),
					  ssrc == 0 ? flatbuffers::nullopt : flatbuffers::Optional<uint32_t>(ssrc),
					  mappedSsrc(index, layer)));
				}

				const auto made    = parameters.FillBuffer(builder);
				const auto mapping = FBS::RtpParameters::CreateRtpMappingDirect(builder, &codecs, &encodings);

				if (!this->shared.Request(
				      from,
				      from->id,
				      Channel::ChannelRequest::Method::TRANSPORT_PRODUCE,
				      FBS::Request::Body::Transport_ProduceRequest,
				      builder,
				      FBS::Transport::CreateProduceRequestDirect(builder, producerId.c_str(), kind, made, mapping)))
				{
					std::abort();
				}
			}

			this->producerIds.push_back(producerId);

			for (const auto* observer : { "levels", "speaker" })
			{
				if (video)
				{
					break;
				}

				flatbuffers::FlatBufferBuilder builder;

				this->shared.Request(
				  this->shared.GetChannelMessageRegistrator()->GetChannelRequestHandler(observer),
				  observer,
				  Channel::ChannelRequest::Method::RTPOBSERVER_ADD_PRODUCER,
				  FBS::Request::Body::RtpObserver_AddProducerRequest,
				  builder,
				  FBS::RtpObserver::CreateAddProducerRequestDirect(builder, producerId.c_str()));
			}

			for (auto* receiver : { to, pipe })
			{
				flatbuffers::FlatBufferBuilder builder;
				auto parameters       = rtpParameters(published, mid, /*mapped*/ true);
				const auto consumerId = receiver->id + "-" + mid;
				const auto layers     = published.ssrcs.size();
				std::vector<flatbuffers::Offset<FBS::RtpParameters::RtpEncodingParameters>> consumable;

				for (size_t layer{ 0 }; layer < layers; ++layer)
				{
					consumable.push_back(
					  encoding(mappedSsrc(index, layer), /*rtx*/ false, published.scalabilityMode).FillBuffer(builder));

					if (receiver == pipe)
					{
						parameters.encodings.push_back(
						  encoding(mappedSsrc(index, layer) + 20000, video, published.scalabilityMode));
					}
				}

				if (receiver == to)
				{
					const auto mode = layers > 1 ? "L" + std::to_string(layers) + "T3" : published.scalabilityMode;

					parameters.encodings.push_back(encoding(consumedSsrc(index), video, mode));
				}

				const auto made = parameters.FillBuffer(builder);

				if (!this->shared.Request(
				      receiver,
				      receiver->id,
				      Channel::ChannelRequest::Method::TRANSPORT_CONSUME,
				      FBS::Request::Body::Transport_ConsumeRequest,
				      builder,
				      FBS::Transport::CreateConsumeRequestDirect(
				        builder,
				        consumerId.c_str(),
				        producerId.c_str(),
				        kind,
				        made,
				        receiver == pipe ? Type::PIPE : published.type,
				        &consumable)))
				{
					std::abort();
				}

				this->consumerIds.push_back(consumerId);
			}
		}
	}

	void Room::Talk(Transport* from, size_t count)
	{
		for (; count > 0; --count)
		{
			this->talked++;

			for (const auto index : this->published)
			{
				const auto& published = publications()[index];

				for (const auto ssrc : published.ssrcs)
				{
					std::vector<uint8_t> packet(12);

					packet[0] = 0x80;
					packet[1] = 0x80 | published.payloadType;
					Utils::Byte::Set2Bytes(packet.data(), 2, this->talked);
					Utils::Byte::Set4Bytes(packet.data(), 4, this->talked * 960u);
					Utils::Byte::Set4Bytes(packet.data(), 8, ssrc);
					packet.insert(packet.end(), published.payload.begin(), published.payload.end());
					Contain([&]() { from->ReceiveRtp(packet); });
				}
			}

			this->shared.Advance(20);
		}
	}

	void Room::OpenDataChannel(Transport* guest, uint16_t inboundStreamId, uint16_t outboundStreamId)
	{
		CloseDataChannel(guest);

		{
			flatbuffers::FlatBufferBuilder builder;
			const auto parameters = FBS::SctpParameters::CreateSctpStreamParameters(builder, inboundStreamId, true);

			this->shared.Request(
			  guest,
			  guest->id,
			  Channel::ChannelRequest::Method::TRANSPORT_PRODUCE_DATA,
			  FBS::Request::Body::Transport_ProduceDataRequest,
			  builder,
			  FBS::Transport::CreateProduceDataRequestDirect(
			    builder, "said", FBS::DataProducer::Type::SCTP, parameters, "label", ""));
		}
		{
			flatbuffers::FlatBufferBuilder builder;
			const auto parameters =
			  FBS::SctpParameters::CreateSctpStreamParameters(builder, outboundStreamId, false, flatbuffers::nullopt, 3);
			const std::vector<uint16_t> subchannels;

			this->shared.Request(
			  guest,
			  guest->id,
			  Channel::ChannelRequest::Method::TRANSPORT_CONSUME_DATA,
			  FBS::Request::Body::Transport_ConsumeDataRequest,
			  builder,
			  FBS::Transport::CreateConsumeDataRequestDirect(
			    builder, "heard", "said", FBS::DataConsumer::Type::SCTP, parameters, "label", "", false, &subchannels));
		}
	}

	void Room::CloseDataChannel(Transport* guest)
	{
		{
			flatbuffers::FlatBufferBuilder builder;

			this->shared.Request(
			  guest,
			  guest->id,
			  Channel::ChannelRequest::Method::TRANSPORT_CLOSE_DATACONSUMER,
			  FBS::Request::Body::Transport_CloseDataConsumerRequest,
			  builder,
			  FBS::Transport::CreateCloseDataConsumerRequestDirect(builder, "heard"));
		}
		{
			flatbuffers::FlatBufferBuilder builder;

			this->shared.Request(
			  guest,
			  guest->id,
			  Channel::ChannelRequest::Method::TRANSPORT_CLOSE_DATAPRODUCER,
			  FBS::Request::Body::Transport_CloseDataProducerRequest,
			  builder,
			  FBS::Transport::CreateCloseDataProducerRequestDirect(builder, "said"));
		}
	}

	void Room::SendData(size_t size)
	{
		auto* handler = this->shared.GetChannelMessageRegistrator()->GetChannelRequestHandler("heard");
		flatbuffers::FlatBufferBuilder builder;
		const std::vector<uint8_t> message(size, 'x');

		if (handler)
		{
			this->shared.Request(
			  handler,
			  "heard",
			  Channel::ChannelRequest::Method::DATACONSUMER_SEND,
			  FBS::Request::Body::DataConsumer_SendRequest,
			  builder,
			  FBS::DataConsumer::CreateSendRequestDirect(builder, 51, &message));
		}
	}

	void Room::Manage(const std::vector<uint8_t>& choice)
	{
		using Method = Channel::ChannelRequest::Method;

		const auto what      = Number(choice, 1);
		const auto which     = choice.size() > 1 ? choice[1] : 0u;
		const auto& producer = this->producerIds[which % this->producerIds.size()];
		const auto& consumer = this->consumerIds[which % this->consumerIds.size()];

		const auto request = [&](const std::string& id, Method method)
		{
			this->shared.Request(this->shared.GetChannelMessageRegistrator()->GetChannelRequestHandler(id), id, method);
		};

		switch (what % 9)
		{
			case 0:
				return request(producer, Method::PRODUCER_PAUSE);
			case 1:
				return request(producer, Method::PRODUCER_RESUME);
			case 2:
				return request(producer, Method::PRODUCER_GET_STATS);
			case 3:
				return request(consumer, Method::CONSUMER_PAUSE);
			case 4:
				return request(consumer, Method::CONSUMER_RESUME);
			case 5:
				return request(consumer, Method::CONSUMER_GET_STATS);
			case 6:
				return request(consumer, Method::CONSUMER_REQUEST_KEY_FRAME);
			case 7:
				return request(consumer, Method::CONSUMER_DUMP);
			default:
			{
				flatbuffers::FlatBufferBuilder builder;
				const auto layers = FBS::Consumer::CreateConsumerLayers(
				  builder, choice.size() > 2 ? choice[2] % 4 : 0, flatbuffers::Optional<uint8_t>(choice.size() > 3 ? choice[3] % 4 : 0));

				this->shared.Request(
				  this->shared.GetChannelMessageRegistrator()->GetChannelRequestHandler(consumer),
				  consumer,
				  Method::CONSUMER_SET_PREFERRED_LAYERS,
				  FBS::Request::Body::Consumer_SetPreferredLayersRequest,
				  builder,
				  FBS::Consumer::CreateSetPreferredLayersRequest(builder, layers));
			}
		}
	}

	Call::Call(uint8_t choice)
	  : publisher(this->room.CreateTransport("publisher", Transport::Kind::GUEST)),
	    listener(this->room.CreateTransport("listener", Transport::Kind::GUEST)),
	    pipe(this->room.CreateTransport("pipe", Transport::Kind::PIPE))
	{
		this->room.Publish(choice, this->publisher.get(), this->listener.get(), this->pipe.get());
	}
} // namespace Fuzz
