// Participants tab: the peers of the room with quality, tracks and moderation.
import { useState } from 'react';
import type { Peer, RoomLeg } from '../../../../server-sdk/src/generated/schemas.ts';
import { Alert, EmptyState } from '../../components/page-title.tsx';
import { useStats } from '../stats/use-stats.ts';
import type { LiveRoom } from '../use-room.ts';
import { peerName } from './names.tsx';
import { PeerCard } from './peer-card.tsx';
import { AdmissionChoice, WaitingList } from './waiting-list.tsx';

/** Number of peers from which a search field is shown. */
const many = 8;
/** Number of peers that are rendered at first and added by each "Show more". */
const page = 100;

export function PeersTab({ live }: { live: LiveRoom }) {
  const stats = useStats(live.requests);
  const [wanted, setWanted] = useState('');
  const [limit, setLimit] = useState(page);
  const all = live.room?.peers;
  if (!all) return null;
  const waiting = all.filter(({ status }) => status === 'waiting');
  const peers = all.filter(({ status }) => status !== 'waiting');
  const text = wanted.trim().toLowerCase();
  const found = peers.filter((peer) => `${peerName(peer)}\n${peer.id}`.toLowerCase().includes(text)).sort(connectedFirst);
  const byId = new Map(stats.data?.peers.map((each) => [each.id, each]));
  return (
    <>
      <AdmissionChoice live={live} />
      <Legs legs={live.room?.legs ?? []} />
      <WaitingList peers={waiting} live={live} />
      {stats.problem && <Alert tone="warning">{stats.problem}</Alert>}
      {peers.length >= many && (
        <input
          className="filter panel-filter"
          type="search"
          placeholder="Search by name or ID"
          aria-label="Search participants by name or ID"
          data-testid="peer-filter"
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
      )}
      {peers.length === 0 && (
        <EmptyState title="No participants" testId="no-peers">
          Join the room, invite a guest, or add participants through the API.
        </EmptyState>
      )}
      {peers.length > 0 && found.length === 0 && <p className="empty">No matching participants.</p>}
      <ul className="cards" aria-label="Participants of this room">
        {found.slice(0, limit).map((peer) => (
          <PeerCard key={peer.id} peer={peer} stats={byId.get(peer.id)} history={stats.history.of(peer.id)} live={live} />
        ))}
      </ul>
      {found.length > limit && (
        <button type="button" className="button" onClick={() => setLimit(limit + page)}>
          Show {Math.min(page, found.length - limit)} more of {found.length}
        </button>
      )}
    </>
  );
}

/** Most rooms have one leg. */
function Legs({ legs }: { legs: readonly RoomLeg[] }) {
  if (legs.length < 2) return null;
  const counts = legs.map(({ worker, peers }) => `worker ${worker}: ${peers}`).join(', ');
  return (
    <p className="hint" data-testid="legs">
      On {legs.length} media workers. Participants by {counts}.
    </p>
  );
}

function connectedFirst(one: Peer, other: Peer): number {
  if (one.status !== other.status) return one.status === 'connected' ? -1 : 1;
  return peerName(one).localeCompare(peerName(other)) || one.id.localeCompare(other.id);
}
