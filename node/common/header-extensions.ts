// Header extensions of RTP (RFC 8285) that several parts of the node know.

/** Dependency descriptor (AV1 RTP specification, appendix A). */
export const dependencyExtension = 'https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension';
