// The configuration of a node: read once at start, complete, frozen; what may change while it runs is in HotConfig (config-hot.ts).
import type { DistConfig } from './config-dist.ts';

/** Everything that is fixed while the node runs. Times are milliseconds. */
export type Config = {
  /** Where REST, sockets, content and console listen. Port 0: any free port. */
  ip: string;
  port: number;
  /** Address given to clients: `host[:port][/path]`, without a scheme. Ends with `:0` where it is the default and `port` is 0: see withBoundPort. */
  host: string;
  /** `host[:port]` where other nodes reach this one over HTTP; `:0` as in `host`. */
  internalAddress: string;
  metrics: { ip: string; port: number };
  /** Whether the API token is the default that only a node on loopback has. */
  developmentToken: boolean;
  structuredLogging: boolean;
  resourcesBasePath: string;
  tls: { keyPath: string; certPath: string } | null;
  /** Which browsers' Origin may open sockets: any, that of the same host or `host`, or these. */
  checkOrigin: 'any' | 'same-host' | readonly string[];
  /** Networks whose X-Forwarded-* is believed, as CIDR; empty: none. */
  trustProxy: readonly string[];
  webrtc: WebrtcConfig;
  sip: { ip: string | null; port: number | null; rtpPorts: { min: number; max: number } };
  dist: DistConfig;
  drainTimeout: number;
  configFiles: readonly string[];
  gitCommit: string;
  /** Cores that the process may use; a fraction where a cgroup says so. */
  cores: number;
};

export type WebrtcConfig = {
  /** An IP address, also where a host name was given. */
  listenIp: string;
  /** Addresses known at start, or the file that will hold them: AnnouncedAddresses (config-announced.ts) makes one thing of both. */
  announced: { addresses: readonly string[] } | { file: string };
  /** null: the first free block from 50000; else exactly this. */
  basePort: number | null;
  workers: number;
  turn: { enabled: boolean; port: number; tlsPort: number | null };
};
