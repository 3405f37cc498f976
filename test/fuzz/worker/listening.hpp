#ifndef MEDIAROOMS_FUZZ_LISTENING_HPP
#define MEDIAROOMS_FUZZ_LISTENING_HPP

// A WebRtcServer with its UDP and TCP sockets on loopback, and the WebRtcTransports of two guests: all of it real.

#include "RTC/WebRtcServer.hpp"
#include "RTC/WebRtcTransport.hpp"
#include "room.hpp"
#include <netinet/in.h>
#include <string>
#include <vector>

namespace Fuzz
{
	class Listening
	{
	public:
		Listening();
		~Listening();

	public:
		/** Has a packet come from a port of loopback, as UdpSocketHandle does. */
		void ReceiveUdp(uint16_t port, const std::vector<uint8_t>& packet);
		/** A STUN message (RFC 8489) of these attributes for a guest, with USERNAME, MESSAGE-INTEGRITY and FINGERPRINT. */
		std::vector<uint8_t> Authentic(size_t guest, uint16_t type, const std::vector<uint8_t>& attributes);
		void RestartIce(size_t guest);
		void ConnectDtls(size_t guest, bool client);
		/** Closes the transport of a guest, who gets another one. */
		void Replace(size_t guest);
		void Dump(size_t guest);
		/** A fault that a transport has contained (patch 0006) is a finding too. */
		void CheckFaults();
		RTC::WebRtcTransport* GetTransport(size_t guest);
		const struct sockaddr* GetTcpAddress();

	private:
		void CreateTransport(const std::string& id);

	public:
		Room room;

	private:
		std::unique_ptr<RTC::WebRtcServer> server;
	};

	/** With FINGERPRINT (RFC 8489, section 14.7) and the right length. */
	std::vector<uint8_t> WithFingerprint(std::vector<uint8_t> message);
} // namespace Fuzz

#endif
