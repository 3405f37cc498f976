// Entry point of the console.
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { applyStoredTheme } from './hooks/use-theme.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import './styles/shell.css';
import './styles/table.css';
import './styles/call.css';

applyStoredTheme();
const root = document.getElementById('root');
if (root) createRoot(root).render(<App />);
