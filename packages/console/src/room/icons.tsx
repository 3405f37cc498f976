// Icons of the room page, on the grid of components/icons.tsx.
import { icon } from '../components/icons.tsx';

export const PanelIcon = icon(
  <rect key="frame" x="3.5" y="4.5" width="17" height="15" rx="2.5" />,
  <path key="side" d="M14.5 4.5v15M17 8.5h1M17 11.5h1" />,
);
export const WatchIcon = icon(
  <rect key="frame" x="3.5" y="5" width="17" height="12" rx="2.5" />,
  <path key="play" d="M10.2 8.4v5.2l4.3-2.6zM9 20h6" />,
);
