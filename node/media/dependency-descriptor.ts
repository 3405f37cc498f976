// Dependency descriptor (AV1 RTP specification, appendix A): without it, browsers cannot decode several spatial layers of AV1.
import { getSupportedRtpCapabilities, parseScalabilityMode } from 'mediasoup';
import type { Consumer, Producer, RtpParameters } from 'mediasoup/types';
import { dependencyExtension } from '../common/header-extensions.ts';
import type { ReceiverNumbers } from '../rooms/interfaces.ts';

const capability = getSupportedRtpCapabilities().headerExtensions?.find(({ uri }) => uri === dependencyExtension);

/** True for several spatial layers of AV1 in one stream. */
export function hasDependencies({ type, rtpParameters }: Consumer | Producer): boolean {
  const [encoding] = rtpParameters.encodings ?? [];
  return type === 'svc' && isAv1(rtpParameters) && parseScalabilityMode(encoding?.scalabilityMode).spatialLayers > 1;
}

/**
 * Parameters with the extension, if they are those of AV1. The worker sends it to all receivers and announces it to none, because it does not
 * rewrite the numbers of frames where a receiver changes to another stream (3.27.1).
 */
export function withDependencies(rtpParameters: RtpParameters): RtpParameters {
  if (!capability || !isAv1(rtpParameters)) return rtpParameters;
  const extension = { uri: capability.uri, id: capability.preferredId, encrypt: false };
  return { ...rtpParameters, headerExtensions: [...(rtpParameters.headerExtensions ?? []), extension] };
}

/** True if a receiver has the extension in its numbers. */
export function hasDependencyNumber({ extensions }: ReceiverNumbers): boolean {
  return extensions.some(({ room }) => room === capability?.preferredId);
}

function isAv1({ codecs }: RtpParameters): boolean {
  return /\/av1$/i.test(codecs[0]?.mimeType ?? '');
}
