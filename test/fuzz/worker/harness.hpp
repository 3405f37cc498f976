#ifndef MEDIAROOMS_FUZZ_HARNESS_HPP
#define MEDIAROOMS_FUZZ_HARNESS_HPP

// What all targets share: a clock and timers that only the input moves, requests as Node sends them, inputs made of steps.

#include "Channel/ChannelNotifier.hpp"
#include "Channel/ChannelRequest.hpp"
#include "Channel/ChannelSocket.hpp"
#include "FBS/message.h"
#include "FaultScope.hpp"
#include "SharedInterface.hpp"
#include "mocks/include/Channel/MockChannelMessageRegistrator.hpp"
#include "mocks/include/handles/MockBackoffTimerHandle.hpp"
#include "mocks/include/handles/MockTimerHandle.hpp"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace Fuzz
{
	/** Makes what the worker makes once, and random numbers and the clock those of a new process. Call it first for each input. */
	void Begin();

	/** Handles something of the network as sockets do: faults are contained (patch 0005). Here each is a finding, unless FUZZ_FAULTS=allow. */
	void Contain(const std::function<void()>& handle);

	/** Runs what the event loop has to do. */
	void RunLoop();

	/** One step of an input: a byte that says what to do, a length of two bytes, the bytes to do it with. */
	struct Step
	{
		uint8_t kind{ 0 };
		std::vector<uint8_t> bytes;
	};

	/** An input: a byte that chooses what there is, and steps. */
	struct Input
	{
		uint8_t choice{ 0 };
		std::vector<Step> steps;
	};

	Input Parse(const uint8_t* data, size_t len);

	/** The number that a step begins with, big endian; zero where it has too few bytes. */
	uint32_t Number(const std::vector<uint8_t>& bytes, size_t size = 2);

	class Shared : public SharedInterface
	{
	public:
		Shared();
		~Shared() override;

	public:
		Channel::ChannelMessageRegistratorInterface* GetChannelMessageRegistrator() override
		{
			return std::addressof(this->registrator);
		}
		Channel::ChannelNotifier* GetChannelNotifier() override
		{
			return std::addressof(this->notifier);
		}
		TimerHandleInterface* CreateTimer(TimerHandleInterface::Listener* listener, std::string label) override;
		BackoffTimerHandleInterface* CreateBackoffTimer(
		  const BackoffTimerHandleInterface::BackoffTimerHandleOptions& options) override;
		int64_t GetTimeMs() override
		{
			return GetTimeUs() / 1000;
		}
		int64_t GetTimeUs() override;
		int64_t GetNtpOffsetUs() override
		{
			return 0;
		}

	public:
		/** Moves the clock, in milliseconds, and runs the timers that are due on the way. */
		void Advance(int64_t ms);

		/** Makes a request of the object with that id, as ChannelSocket does. Returns false where it throws. */
		template<typename Body>
		bool Request(
		  Channel::ChannelSocket::RequestHandler* handler,
		  const std::string& handlerId,
		  Channel::ChannelRequest::Method method,
		  FBS::Request::Body type,
		  flatbuffers::FlatBufferBuilder& builder,
		  flatbuffers::Offset<Body> body)
		{
			return Send(
			  handler,
			  builder,
			  FBS::Request::CreateRequestDirect(builder, 1, method, handlerId.c_str(), type, body.Union()));
		}
		/** The same without a body. */
		bool Request(
		  Channel::ChannelSocket::RequestHandler* handler,
		  const std::string& handlerId,
		  Channel::ChannelRequest::Method method);

	private:
		bool Send(
		  Channel::ChannelSocket::RequestHandler* handler,
		  flatbuffers::FlatBufferBuilder& builder,
		  flatbuffers::Offset<FBS::Request::Request> request);

	private:
		Channel::ChannelSocket channel;
		mocks::Channel::MockChannelMessageRegistrator registrator;
		Channel::ChannelNotifier notifier;
		// In the order in which they were made: by their addresses it would be another one in each run.
		std::map<uint64_t, mocks::MockTimerHandle*> timers;
		std::map<uint64_t, mocks::MockBackoffTimerHandle*> backoffTimers;
		uint64_t timersMade{ 0 };
	};
} // namespace Fuzz

#endif
