// Effective configuration: every variable as in the environment, with its source. Secrets are only shown as set.

import type { ConfigValue } from '../../api/node.ts';
import type { StaticName } from '../../api/settings/static.ts';
import { type Variable, variables } from '../../api/settings/variables.ts';
import type { Config } from '../config.ts';
import type { ReloadableConfig } from './reloadable-config.ts';

/** Placeholder of a secret that is set. */
export const redactedValue = '***';

type Value = ConfigValue['value'];
type StaticValues = Partial<Record<StaticName, Value>>;

/** `changed`: actual values that differ from the configuration, for example the port for port 0. */
export function effectiveConfig(config: Config, hot: ReloadableConfig, changed: StaticValues = {}): ConfigValue[] {
  const completed: Record<string, Value | undefined> = { ...completedValues(config), ...changed };
  return variables
    .map((variable) => {
      const { value, source } = hot.given(variable);
      const shown = variable.env in completed ? completed[variable.env] : writtenValue(variable, value);
      return configValue(variable, shown as Value | undefined, source);
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The given value, else the default; null if the value means that there is none, for example 0 for never. */
function writtenValue({ schema, default: byDefault }: Variable, given: unknown): unknown {
  const value = given === undefined ? byDefault : given;
  return schema.safeParse(value).data === null ? null : value;
}

function configValue({ env, path, doc, secret }: Variable, value: Value | undefined, source: ConfigValue['source']): ConfigValue {
  const isSet = value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  const shown = secret && isSet ? redactedValue : isSet ? value : null;
  return { name: `SVC_${env}`, value: shown, source, secret: secret ?? false, reloadable: path !== undefined, meaning: doc };
}

/** Static values that are completed at start or apply only with others. */
function completedValues({ webrtc, dist, tls, ...config }: Config): StaticValues {
  const { turn, announced } = webrtc;
  const { strategy } = dist;
  const listed = strategy.name === 'NODES_LIST' ? strategy : undefined;
  const asked = strategy.name === 'DNS' ? strategy : undefined;
  return {
    HOST: config.host,
    INTERNAL_ADDRESS: config.internalAddress,
    RESOURCES_BASE_PATH: config.resourcesBasePath,
    SSL_KEY_PATH: tls?.keyPath ?? null,
    SSL_CERT_PATH: tls?.certPath ?? null,
    WEBRTC_TURN_LISTEN_IP: webrtc.listenIp,
    WEBRTC_TURN_IP: 'addresses' in announced ? [...announced.addresses] : null,
    WEBRTC_WORKERS: webrtc.workers,
    WEBRTC_TURN_TLS_PORT: turn.tls?.port ?? null,
    WEBRTC_TURN_TLS_PUBLIC_PORT: turn.tls?.publicPort ?? null,
    WEBRTC_TURN_TLS_KEY_PATH: turn.tls?.keyPath ?? null,
    WEBRTC_TURN_TLS_CERT_PATH: turn.tls?.certPath ?? null,
    WEBRTC_TURN_TLS_HOST: turn.tls?.host ?? null,
    SIP_PORT: `${config.sip.ports.min}-${config.sip.ports.max}`,
    DIST_NODE_NAME: dist.nodeName,
    DIST_NODES: listed ? [...listed.nodes] : null,
    DIST_QUERY: asked?.query ?? null,
    DIST_POLLING_INTERVAL: asked?.pollingInterval ?? null,
    DIST_COOKIE: dist.cookie,
    DIST_TLS_CA: dist.tls?.caPath ?? null,
    DIST_TLS_CERT: dist.tls?.certPath ?? null,
    DIST_TLS_KEY: dist.tls?.keyPath ?? null,
    DIST_IP: dist.ip,
    CONFIG_FILES: [...config.configFiles],
    GIT_COMMIT: config.gitCommit,
  };
}
