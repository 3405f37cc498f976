#include "harness.hpp"
#include "DepLibSRTP.hpp"
#include "DepLibUV.hpp"
#include "DepLibWebRTC.hpp"
#include "DepOpenSSL.hpp"
#include "MediaSoupErrors.hpp"
#include "RTC/DtlsTransport.hpp"
#include "Settings.hpp"
#include "Utils.hpp"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

namespace
{
	constexpr int64_t FirstTimeUs{ 1000000000 };
	// More timers than any input needs in one step.
	constexpr size_t MaxExpirations{ 1000 };

	int64_t timeUs{ FirstTimeUs };

	bool initialize()
	{
		std::string logLevel(std::getenv("FUZZ_LOG") ? "debug" : "none");

		Settings::SetLogLevel(logLevel);
		Settings::SetLogTags({ "info", "ice", "dtls", "rtp", "srtp", "rtcp", "rtx", "bwe", "score", "simulcast", "svc", "sctp", "message" });
		DepLibUV::ClassInit();
		DepOpenSSL::ClassInit();
		DepLibSRTP::ClassInit();
		DepLibWebRTC::ClassInit();
		Utils::Crypto::ClassInit();
		RTC::DtlsTransport::ClassInit();

		return true;
	}
} // namespace

// The clock of all that does not ask SharedInterface (libwebrtc). It stands before the one of the shared library.
extern "C" uint64_t uv_hrtime()
{
	return static_cast<uint64_t>(timeUs) * 1000;
}

namespace Fuzz
{
	void Begin()
	{
		static const bool initialized = initialize();

		(void)initialized;
		timeUs = FirstTimeUs;
		// NOTE: It is private; targets are compiled with -fno-access-control.
		Utils::Crypto::rng.seed(1);
	}

	void Contain(const std::function<void()>& handle)
	{
		static const bool allowed = std::getenv("FUZZ_FAULTS") && std::string(std::getenv("FUZZ_FAULTS")) == "allow";

		try
		{
			const FaultScope scope;

			handle();
		}
		catch (const std::exception& error)
		{
			if (!allowed)
			{
				std::fprintf(stderr, "fault: %s\n", error.what());
				std::abort();
			}
		}
	}

	void RunLoop()
	{
		uv_run(DepLibUV::GetLoop(), UV_RUN_NOWAIT);
	}

	Input Parse(const uint8_t* data, size_t len)
	{
		Input input;

		if (len > 0)
		{
			input.choice = data[0];
		}

		for (size_t at{ 1 }; at + 3 <= len;)
		{
			const size_t size = std::min<size_t>(size_t{ data[at + 1] } << 8 | data[at + 2], len - at - 3);

			input.steps.push_back({ data[at], { data + at + 3, data + at + 3 + size } });
			at += 3 + size;
		}

		return input;
	}

	uint32_t Number(const std::vector<uint8_t>& bytes, size_t size)
	{
		uint32_t number{ 0 };

		for (size_t at{ 0 }; at < size && bytes.size() >= size; ++at)
		{
			number = number << 8 | bytes[at];
		}

		return number;
	}

	Shared::Shared() : notifier(std::addressof(this->channel))
	{
		this->channel.SetShared(this);
	}

	Shared::~Shared() = default;

	int64_t Shared::GetTimeUs()
	{
		return timeUs;
	}

	TimerHandleInterface* Shared::CreateTimer(TimerHandleInterface::Listener* listener, std::string label)
	{
		const auto number = this->timersMade++;
		auto* timer       = new mocks::MockTimerHandle(
      listener, std::move(label), [this]() { return GetTimeMs(); }, [this, number]() { this->timers.erase(number); });

		this->timers.emplace(number, timer);

		return timer;
	}

	BackoffTimerHandleInterface* Shared::CreateBackoffTimer(
	  const BackoffTimerHandleInterface::BackoffTimerHandleOptions& options)
	{
		const auto number = this->timersMade++;
		auto* timer       = new mocks::MockBackoffTimerHandle(
      options, [this]() { return GetTimeMs(); }, [this, number]() { this->backoffTimers.erase(number); });

		this->backoffTimers.emplace(number, timer);

		return timer;
	}

	void Shared::Advance(int64_t ms)
	{
		const int64_t endMs = GetTimeMs() + ms;

		for (size_t count{ 0 }; count < MaxExpirations; ++count)
		{
			int64_t nextMs{ endMs };
			mocks::MockTimerHandle* timer{ nullptr };
			mocks::MockBackoffTimerHandle* backoffTimer{ nullptr };

			for (const auto& [number, each] : this->timers)
			{
				if (each->GetExpiresAtMs() < nextMs || (each->GetExpiresAtMs() == nextMs && !timer))
				{
					nextMs = each->GetExpiresAtMs();
					timer  = each;
				}
			}

			for (const auto& [number, each] : this->backoffTimers)
			{
				if (each->GetExpiresAtMs() < nextMs || (each->GetExpiresAtMs() == nextMs && !timer && !backoffTimer))
				{
					nextMs       = each->GetExpiresAtMs();
					backoffTimer = each;
				}
			}

			if (!timer && !backoffTimer)
			{
				break;
			}

			timeUs = std::max(timeUs, nextMs * 1000);
			Contain([&]() { backoffTimer ? backoffTimer->EvaluateHasExpired() : timer->EvaluateHasExpired(); });
		}

		timeUs = std::max(timeUs, endMs * 1000);
	}

	bool Shared::Request(
	  Channel::ChannelSocket::RequestHandler* handler,
	  const std::string& handlerId,
	  Channel::ChannelRequest::Method method)
	{
		flatbuffers::FlatBufferBuilder builder;

		return Send(handler, builder, FBS::Request::CreateRequestDirect(builder, 1, method, handlerId.c_str()));
	}

	bool Shared::Send(
	  Channel::ChannelSocket::RequestHandler* handler,
	  flatbuffers::FlatBufferBuilder& builder,
	  flatbuffers::Offset<FBS::Request::Request> request)
	{
		builder.Finish(request);

		Channel::ChannelRequest made(
		  std::addressof(this->channel), flatbuffers::GetRoot<FBS::Request::Request>(builder.GetBufferPointer()));

		try
		{
			handler->HandleRequest(std::addressof(made));

			return true;
		}
		catch (const MediaSoupError& error)
		{
			made.GetBufferBuilder().Clear();

			if (std::getenv("FUZZ_LOG"))
			{
				std::fprintf(stderr, "%s refused: %s\n", made.methodCStr, error.what());
			}

			return false;
		}
	}
} // namespace Fuzz

namespace
{
	uint32_t state;

	uint32_t below(uint32_t limit)
	{
		state = state * 1664525 + 1013904223;

		return (state >> 8) % limit;
	}

	void changeSteps(std::vector<Fuzz::Step>& steps, size_t maxSize)
	{
		if (steps.empty())
		{
			steps.push_back({ 0, { 0x80 } });
		}

		const size_t at = below(steps.size());
		auto& bytes     = steps[at].bytes;

		switch (below(10))
		{
			case 0:
				steps.insert(steps.begin() + below(steps.size() + 1), Fuzz::Step(steps[at]));
				break;
			case 1:
				steps.erase(steps.begin() + at);
				break;
			case 2:
				std::swap(steps[at], steps[below(steps.size())]);
				break;
			case 3:
				steps[at].kind = below(16);
				break;
			default:
			{
				const size_t size = bytes.size();

				bytes.resize(std::min<size_t>(maxSize, size + 64));
				bytes.resize(LLVMFuzzerMutate(bytes.data(), std::min(size, bytes.size()), bytes.size()));
			}
		}
	}

	size_t write(const Fuzz::Input& input, uint8_t* data, size_t maxSize)
	{
		if (maxSize == 0)
		{
			return 0;
		}

		size_t at{ 1 };

		data[0] = input.choice;

		for (const auto& [kind, bytes] : input.steps)
		{
			if (bytes.size() > 65535 || at + 3 + bytes.size() > maxSize)
			{
				break;
			}

			data[at]     = kind;
			data[at + 1] = bytes.size() >> 8;
			data[at + 2] = bytes.size() & 0xff;
			std::copy(bytes.begin(), bytes.end(), data + at + 3);
			at += 3 + bytes.size();
		}

		return at;
	}
} // namespace

/** Changes steps as a whole or the bytes of one, so that the lengths between them stay right. */
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned int seed)
{
	state = seed;

	auto input = Fuzz::Parse(data, size);

	if (below(20) == 0)
	{
		input.choice = below(256);
	}

	for (uint32_t changes{ 1 + below(3) }; changes > 0; --changes)
	{
		changeSteps(input.steps, maxSize);
	}

	return write(input, data, maxSize);
}

/** Takes the beginning of one input and the end of the other. */
extern "C" size_t LLVMFuzzerCustomCrossOver(
  const uint8_t* data1, size_t size1, const uint8_t* data2, size_t size2, uint8_t* out, size_t maxOutSize, unsigned int seed)
{
	state = seed;

	auto input       = Fuzz::Parse(data1, size1);
	const auto other = Fuzz::Parse(data2, size2).steps;

	input.steps.resize(below(input.steps.size() + 1));
	input.steps.insert(input.steps.end(), other.begin() + below(other.size() + 1), other.end());

	return write(input, out, maxOutSize);
}
