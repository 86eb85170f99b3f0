// Panel expects a module shim; every browser we support imports modules by itself.
window.importShim = (address) => import(address)
window.importShim.addImportMap = () => {}
