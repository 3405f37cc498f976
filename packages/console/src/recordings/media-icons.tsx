// Icons for playing and downloading files, on the grid of icons.tsx.
import { icon } from '../components/icons.tsx';

export const PlayIcon = icon(<path key="play" d="M8 5.5v13l10.5-6.5z" />);
export const DownloadIcon = icon(<path key="down" d="M12 4v10.5m-4-4 4 4 4-4M5 19.5h14" />);
