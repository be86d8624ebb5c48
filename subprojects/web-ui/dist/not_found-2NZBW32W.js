import{a,b}from"./chunk-NWNK3F35.js";import"./chunk-NFSGBBUM.js";export{a as NotFound,b as NotFoundPage};
