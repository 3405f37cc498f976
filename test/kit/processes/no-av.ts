// Preload module for a node process (`--import`): behaves as if the optional dependency node-av were not installed.
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) => {
    if (/^node-av(\/|$)/.test(specifier))
      throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: 'ERR_MODULE_NOT_FOUND' });
    return next(specifier, context);
  },
});
