// Icons of the buttons in a room, on the grid of icons.tsx.
import { icon } from '../components/icons.tsx';

export const ChatIcon = icon(
  <path key="bubble" d="M5.5 5h13a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H11l-4.5 3.5V17h-1a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2z" />,
  <path key="lines" d="M8 9.5h8M8 12.7h5" />,
);
export const SendIcon = icon(<path key="plane" d="M20.5 3.5L10 14M20.5 3.5L14 20.5l-4-6.5-6.5-4z" />);
export const CaptionsIcon = icon(
  <rect key="frame" x="3.5" y="5.5" width="17" height="13" rx="2" />,
  <path key="lines" d="M7 11h5M14.5 11H17M7 14.5h2.5M12 14.5h5" />,
);
export const DevicesIcon = icon(
  <path key="lines" d="M4 7.5h8M17 7.5h3M4 16.5h3M12 16.5h8" />,
  <circle key="a" cx="14.5" cy="7.5" r="2.5" />,
  <circle key="b" cx="9.5" cy="16.5" r="2.5" />,
);
