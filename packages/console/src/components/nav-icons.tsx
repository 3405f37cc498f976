// Icons of the navigation and the header, on the grid of icons.tsx.
import { icon } from './icons.tsx';

export const RoomIcon = icon(
  <rect key="a" x="3.5" y="4.5" width="7.5" height="6.5" rx="1.8" />,
  <rect key="b" x="13" y="4.5" width="7.5" height="6.5" rx="1.8" />,
  <rect key="c" x="3.5" y="13" width="7.5" height="6.5" rx="1.8" />,
  <rect key="d" x="13" y="13" width="7.5" height="6.5" rx="1.8" />,
);
export const RecordingIcon = icon(<circle key="ring" cx="12" cy="12" r="8.2" />, <circle key="dot" cx="12" cy="12" r="3" />);
export const ClusterIcon = icon(
  <rect key="a" x="4" y="4.5" width="16" height="6" rx="1.8" />,
  <rect key="b" x="4" y="13.5" width="16" height="6" rx="1.8" />,
  <path key="lights" d="M7.5 7.5h.01M7.5 16.5h.01M11 7.5h5.5M11 16.5h5.5" />,
);
export const WebhookIcon = icon(
  <circle key="a" cx="12" cy="6.8" r="2.8" />,
  <circle key="b" cx="6.3" cy="16.6" r="2.8" />,
  <circle key="c" cx="17.7" cy="16.6" r="2.8" />,
  <path key="arms" d="M10.7 9.3l-3 4.9M13.3 9.3l3 4.9M9.1 16.6h5.8" />,
);
export const HealthIcon = icon(<path key="pulse" d="M3.5 12.5h4l2.2-6 4.6 12 2.2-6h4" />);
export const SystemThemeIcon = icon(
  <rect key="frame" x="3.5" y="4.5" width="17" height="12" rx="2.2" />,
  <path key="foot" d="M9 20h6M12 16.5V20" />,
);
export const LightThemeIcon = icon(
  <circle key="sun" cx="12" cy="12" r="3.8" />,
  <path key="rays" d="M12 3.2v2M12 18.8v2M3.2 12h2M18.8 12h2M5.8 5.8l1.4 1.4M16.8 16.8l1.4 1.4M18.2 5.8l-1.4 1.4M7.2 16.8l-1.4 1.4" />,
);
export const DarkThemeIcon = icon(<path key="moon" d="M19.5 14.2A8 8 0 0 1 9.8 4.5a8 8 0 1 0 9.7 9.7z" />);
export const CopyIcon = icon(
  <rect key="front" x="8.5" y="8.5" width="11" height="11" rx="2" />,
  <path key="back" d="M15.5 5.5v-.2a1.8 1.8 0 0 0-1.8-1.8H6.3a1.8 1.8 0 0 0-1.8 1.8v7.4a1.8 1.8 0 0 0 1.8 1.8h.2" />,
);
export const SearchIcon = icon(<circle key="glass" cx="10.8" cy="10.8" r="6.3" />, <path key="grip" d="M15.6 15.6l4.4 4.4" />);
export const BookIcon = icon(
  <path key="cover" d="M5 5.5A2 2 0 0 1 7 3.5h12v14H7a2 2 0 0 0-2 2zM5 19.5a2 2 0 0 0 2 2h12v-4" />,
  <path key="line" d="M9 8h6" />,
);
